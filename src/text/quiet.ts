/**
 * Breaks what a platform would read as a mention, with a zero-width space behind its sign, so that nothing the model writes
 * pings anybody. Addresses stay whole, and code too where the platform does not look into it.
 */
import { insertInto, type Flow } from "./flow.js";

export interface PingRule {
  /** Global; the break goes behind the match. */
  readonly sign: RegExp;
  /** False: also within addresses (a sign that no address can contain). */
  readonly keepAddresses: boolean;
}

const breaker = "\u200b";
/** Host, then a path of characters no platform ends an address at: what comes after those is text and may ping. */
const addresses = /\b[a-z][a-z0-9+.-]{0,20}:\/\/[\p{L}\p{N}.:-]+[/?#][\p{L}\p{N}\-._~:/?#@&+=%]*/giu;

/** The flow with mentions broken outside code and links that are addresses. */
export function quietFlow(flow: Flow, rules: readonly PingRule[]): Flow {
  const covered = flow.spans.filter((span) => span.kind === "code" || span.kind === "code-block" || (span.kind === "link" && span.auto));
  let next = 0;
  const found = breaks(flow.text, rules).filter((at) => {
    while (next < covered.length && (covered[next]?.end ?? 0) <= at) next++;
    const span = covered[next];
    return span === undefined || span.start >= at;
  });
  return insertInto(
    flow,
    found.map((at) => ({ at, text: breaker })),
  );
}

/** Plain text with mentions broken everywhere but in addresses: without markup there is no code to protect it. */
export function quietText(text: string, rules: readonly PingRule[]): string {
  return insertInto(
    { text, spans: [], borders: [] },
    breaks(text, rules).map((at) => ({ at, text: breaker })),
  ).text;
}

function breaks(text: string, rules: readonly PingRule[]): number[] {
  const whole = [...text.matchAll(addresses)].map((match) => ({ start: match.index, end: match.index + match[0].length }));
  const found = new Set<number>();
  for (const rule of rules) {
    let next = 0;
    for (const match of text.matchAll(rule.sign)) {
      while (next < whole.length && (whole[next]?.end ?? 0) <= match.index) next++;
      const kept = rule.keepAddresses && (whole[next]?.start ?? Infinity) <= match.index;
      if (!kept) found.add(match.index + match[0].length);
    }
  }
  return [...found].sort((a, b) => a - b);
}
