/**
 * The plain form: what is sent when a platform refuses the markup. Markers are gone, code is verbatim, links keep their
 * address behind the label. It is made from the blocks, never from already marked-up text.
 */
import { insertInto, type Flow } from "./flow.js";
import { layOut } from "./layout.js";
import type { Block } from "./markdown.js";

/** Plain text of a flow or of a slice of one; an address stands behind its label's end, once. */
export function plainText(flow: Flow): string {
  const links = flow.spans
    .filter((span) => span.kind === "link" && !span.auto && !span.cutEnd && span.url !== undefined)
    .sort((a, b) => a.end - b.end);
  return insertInto(
    { text: flow.text, spans: [], borders: [] },
    links.map((span) => ({ at: span.end, text: ` (${span.url ?? ""})` })),
  ).text;
}

/** Blocks to plain text as a whole. */
export function plain(blocks: readonly Block[]): string {
  return plainText(layOut(blocks, { linkable: () => true }));
}
