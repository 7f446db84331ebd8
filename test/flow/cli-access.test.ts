/** mneme access beside a running gateway, which obeys without a restart. */
import { describe, expect, it } from "vitest";
import { runCli, type Finished } from "../support/cli.js";
import { environmentOf, quiet, startGateway, textsIn, until, world, type World } from "../support/gateway.js";

const bob = 2002;
const closed = { MNEME__access__mode: "allowlist" };

function cli(where: World, ...args: readonly string[]): Promise<Finished> {
  return runCli(args, { cwd: where.home.dir, env: environmentOf(where, closed) });
}

describe("mneme access", { timeout: 90_000 }, () => {
  it("grants, raises and revokes while the gateway runs, and lists who is admitted with the last changes", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(bob, { first_name: "Bob" });
    await startGateway(where, closed);

    const granted = await cli(where, "access", "grant", `telegram:${bob}`);
    where.telegram.say(bob, "hello");
    await until("an answer", () => textsIn(where, bob).length === 1);
    const raised = await cli(where, "access", "role", `telegram:${bob}`, "operator");
    where.telegram.say(bob, "/approve ABCD2345");
    await until("the operator's command", () => textsIn(where, bob).length === 2);
    const list = await cli(where, "access", "list");
    const revoked = await cli(where, "access", "revoke", `telegram:${bob}`);
    where.telegram.say(bob, "still there?");
    await quiet(where);

    expect(granted).toMatchObject({ code: 0, out: expect.stringContaining("admitted as user") as string });
    expect(raised.code).toBe(0);
    expect(textsIn(where, bob)).toEqual(["Answer.", expect.stringContaining("not known") as string]);
    expect(list.out).toMatch(/telegram:2002\s+Bob\s+operator/u);
    expect(list.out).toMatch(/cli\s+admit\s+telegram:2002/u);
    expect(revoked.code).toBe(0);
    expect(where.model.requests).toHaveLength(1);
  });

  it("refuses what is no account and no role, and says where the settings still admit somebody", async () => {
    const where = await world();
    await startGateway(where, closed);
    const wrong = await cli(where, "access", "grant", "Bob");
    const role = await cli(where, "access", "role", `telegram:${bob}`, "emperor");
    const listed = await cli(where, "access", "revoke", "telegram:1001");

    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("platform:id") as string });
    expect(role).toMatchObject({ code: 2, err: expect.stringContaining("operator, user") as string });
    expect(listed.err).toContain("access.operators in the settings");
  });
});
