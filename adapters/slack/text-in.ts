/**
 * Slack's wire text to plain text for the model: mentions, channels, links and entities in one pass. One pass is the
 * point: `&amp;lt;` must become `&lt;` and nothing else, and what a person wrote as `&lt;@U1&gt;` is no mention.
 */

/** What the text may name. Each answers undefined when the name is not known; then the id stands alone. */
export interface Names {
  person(id: string): string | undefined;
  channel(id: string): string | undefined;
}

/** Ids that a text names, for looking them up before `readText`. */
export function idsIn(text: string): { readonly people: string[]; readonly channels: string[] } {
  const people = new Set<string>();
  const channels = new Set<string>();
  for (const match of text.matchAll(/<([@#])([A-Z0-9]+)(?:\|([^<>]*))?>/g)) {
    const id = match[2] ?? "";
    if (match[1] === "@") people.add(id);
    else if ((match[3] ?? "") === "") channels.add(id);
  }
  return { people: [...people], channels: [...channels] };
}

/** True when the text names this user in Slack's own form (typed as text, `@name` is none). */
export function mentions(text: string, userId: string): boolean {
  return new RegExp(`<@${userId}(?:\\|[^<>]*)?>`).test(text);
}

/** Code, which keeps its marks. */
const code = /(```[\s\S]*?```|`[^`\n]+`)/;
const before = String.raw`(^|[\s([{"'“‘>_~*—–-])`;
const after = String.raw`(?=$|[\s.,!?;:)\]}"'”’<_~*—–-])`;
/** `*bold*` and `~struck~` as Slack reads them: at word borders, on one line. A token in between may hold anything. */
const bold = new RegExp(`<[^<>]*>|${before}\\*(?=\\S)((?:<[^<>]*>|[^*\\n<])*[^\\s*<]|<[^<>]*>)\\*${after}`, "gm");
const struck = new RegExp(`<[^<>]*>|${before}~(?=\\S)((?:<[^<>]*>|[^~\\n<])*[^\\s~<]|<[^<>]*>)~${after}`, "gm");

/** Slack's marks for bold and struck text to Markdown's; italics, code, quotes and lists are written alike. */
function toMarkdown(text: string): string {
  const remark = (segment: string, pattern: RegExp, mark: string): string =>
    segment.replace(pattern, (whole: string, lead: string | undefined, inner: string | undefined) =>
      inner === undefined ? whole : `${lead ?? ""}${mark}${inner}${mark}`,
    );
  return text
    .split(code)
    .map((segment, index) => (index % 2 === 1 ? segment : remark(remark(segment, bold, "**"), struck, "~~")))
    .join("");
}

const token = /<([^<>]+)>|&(amp|lt|gt);/g;
const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">" };

/**
 * Reads a Slack text as Markdown. Mentions become `@Name (U123)`, channels `#name (C123)`, `<url|label>` becomes `[label](url)`, a
 * bare `<url>` the URL. Mentions of `selfId` are taken out. Source: docs.slack.dev, "Formatting message text".
 */
export function readText(text: string, selfId: string, names: Names): string {
  let selfGone = false;
  const read = toMarkdown(text).replace(token, (_whole: string, inner: string | undefined, entity: string | undefined) => {
    if (entity !== undefined) return entities[entity] ?? "";
    const part = readToken(inner ?? "", selfId, names);
    selfGone ||= part === undefined;
    return part ?? "\u0000";
  });
  if (!selfGone) return read.trim();
  // The gap that the bot's own mention leaves is closed; other white space (code, indents) stays as it is.
  return read
    .replace(/(^|\n)[ \t]*(?:\u0000[ \t]*[,:]?[ \t]*)+/g, "$1")
    .replace(/[ \t]*\u0000(?=[ \t]*(?:\n|$|[.,!?;:]))/g, "")
    .replace(/\u0000[ \t]*/g, "")
    .trim();
}

/** Undefined: the bot's own mention. */
function readToken(inner: string, selfId: string, names: Names): string | undefined {
  const bar = inner.indexOf("|");
  const target = bar < 0 ? inner : inner.slice(0, bar);
  const label = bar < 0 ? "" : decodeEntities(inner.slice(bar + 1));
  const id = target.slice(1);
  if (target.startsWith("@")) {
    if (id === selfId) return undefined;
    const name = names.person(id) ?? label.replace(/^@/, "");
    return name === "" ? `@${id}` : `@${name} (${id})`;
  }
  if (target.startsWith("#")) {
    const name = label === "" ? (names.channel(id) ?? "") : label.replace(/^#/, "");
    return name === "" ? `#${id}` : `#${name} (${id})`;
  }
  if (target.startsWith("!")) return special(id, label);
  return link(decodeEntities(target), label);
}

function special(name: string, label: string): string {
  if (label !== "") return label;
  return `@${name.split("^")[0] ?? name}`;
}

function link(url: string, label: string): string {
  const plain = url.replace(/^(?:mailto|tel):/, "");
  if (label === "" || label === url || label === plain) return plain;
  if (url === `http://${label}` || url === `https://${label}` || url === `http://${label}/` || url === `https://${label}/`) return url;
  const safeLabel = label.replace(/[[\]\\]/g, "\\$&");
  return /[()\s]/.test(url) ? `[${safeLabel}](<${url}>)` : `[${safeLabel}](${url})`;
}

/** `&amp; &lt; &gt;` to characters, once. Slack encodes these three and no others. */
export function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt);/g, (_whole: string, entity: string) => entities[entity] ?? "");
}

/** A name or title of the outside world: one line, no control characters, at most 80 characters. */
export function oneLine(name: string): string {
  return [
    ...name
      .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
      .replace(/\s+/g, " ")
      .trim(),
  ]
    .slice(0, 80)
    .join("");
}
