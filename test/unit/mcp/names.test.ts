/** Names of foreign tools: always usable, never shared, and the same whatever else the server lists in whatever order. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { offeredNames } from "../../../src/mcp/names.js";

const none: ReadonlySet<string> = new Set();
const serverName = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,31}$/);
const ownName = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.stringMatching(/^[A-Za-z_. -]{1,4}$/),
  fc.string({ minLength: 60, maxLength: 90 }),
);

describe("the names of an MCP server's tools", () => {
  it("are usable by every model server and never shared, whatever the server calls them", () => {
    fc.assert(
      fc.property(serverName, fc.array(ownName, { maxLength: 30 }), fc.array(ownName), (server, own, reserved) => {
        const taken = new Set([...offeredNames(server, reserved, none).values()]);
        const names = offeredNames(server, own, taken);

        expect([...names.keys()].toSorted()).toEqual([...new Set(own)].toSorted());
        expect(new Set(names.values()).size).toBe(names.size);
        for (const name of names.values()) {
          expect(name).toMatch(/^[a-z0-9_-]{1,64}$/);
          expect(taken.has(name)).toBe(false);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("do not depend on the order in which the server lists them", () => {
    fc.assert(
      fc.property(serverName, fc.array(ownName, { maxLength: 20 }), (server, own) => {
        expect(offeredNames(server, own.toReversed(), none)).toEqual(offeredNames(server, own, none));
      }),
    );
  });

  it("of two servers cannot meet, since a server's name has no underscore", () => {
    const one = offeredNames("a", ["b_c"], none);
    const other = offeredNames("a-b", ["c"], none);

    expect([...one.values(), ...other.values()]).toEqual(["a_b_c", "a-b_c"]);
  });

  it("keep a name that fits even when another folds to the same", () => {
    const names = offeredNames("s", ["get item", "get_item", "GET_ITEM"], none);

    expect(names.get("get_item")).toBe("s_get_item");
    expect(names.get("get item")).toMatch(/^s_get_item_[0-9a-f]{8}$/);
    expect(names.get("GET_ITEM")).toMatch(/^s_get_item_[0-9a-f]{8}$/);
  });
});
