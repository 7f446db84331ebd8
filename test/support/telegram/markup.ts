/**
 * Text rules of the Bot API: entity validation, HTML and MarkdownV2 parsing, trimming, and the entities the server
 * finds by itself in what people type. Strict: what the server would drop silently is refused, so that a renderer's slip shows.
 */
import { bad, type TgEntity } from "./model.js";

const known = new Set([
  "mention",
  "hashtag",
  "cashtag",
  "bot_command",
  "url",
  "email",
  "phone_number",
  "bold",
  "italic",
  "underline",
  "strikethrough",
  "spoiler",
  "blockquote",
  "expandable_blockquote",
  "code",
  "pre",
  "text_link",
  "text_mention",
  "custom_emoji",
  "date_time",
]);

export interface Formatted {
  readonly text: string;
  readonly entities: TgEntity[];
}

/** Applies parse_mode or the given entities, trims like the server and checks the length in UTF-16 units. */
export function format(raw: unknown, mode: unknown, given: unknown, limit: number, what: "text" | "caption"): Formatted {
  if (typeof raw !== "string") {
    if (what === "caption" && raw === undefined) return { text: "", entities: [] };
    throw bad(`message ${what} is empty`);
  }
  if (Buffer.byteLength(raw) > 32 * 1024) throw bad("message is too long");
  if (/\p{Surrogate}/u.test(raw)) throw bad("strings must be encoded in UTF-8");
  let formatted: Formatted;
  if (mode === undefined || mode === "") formatted = { text: raw, entities: checkEntities(raw, given) };
  else if (/^html$/i.test(String(mode))) formatted = parseHtml(raw);
  else if (/^markdownv2$/i.test(String(mode))) formatted = parseMarkdownV2(raw);
  else throw bad(`unsupported parse_mode`);
  const trimmed = trim(formatted);
  if (trimmed.text === "" && what === "text") throw bad("message text is empty");
  if (trimmed.text.length > limit) throw bad(what === "text" ? "message is too long" : "message caption is too long");
  return trimmed;
}

function checkEntities(text: string, given: unknown): TgEntity[] {
  const parsed: unknown = typeof given === "string" ? JSON.parse(given) : given;
  if (parsed === undefined || parsed === null) return [];
  if (!Array.isArray(parsed)) throw bad("can't parse entities: expected an Array");
  if (parsed.length > 100) throw bad("too many entities");
  return parsed.map((entity: TgEntity) => {
    if (typeof entity !== "object" || entity === null) throw bad("can't parse MessageEntity: expected an Object");
    const { type, offset, length } = entity;
    if (!known.has(type)) throw bad(`can't parse MessageEntity: Unsupported type "${type}"`);
    if (!Number.isInteger(offset) || !Number.isInteger(length)) throw bad('can\'t parse MessageEntity: Field "offset" must be an Integer');
    const end = offset + length;
    if (offset < 0 || length <= 0) throw bad(`entity has invalid offset or length at ${offset}`);
    if (end > text.length) {
      throw bad(`entity beginning at UTF-16 offset ${offset} ends after the end of the text at UTF-16 offset ${end}`);
    }
    if (splitsPair(text, offset)) throw bad(`entity begins in a middle of a UTF-16 symbol at UTF-16 offset ${offset}`);
    if (splitsPair(text, end))
      throw bad(`entity beginning at UTF-16 offset ${offset} ends in a middle of a UTF-16 symbol at UTF-16 offset ${end}`);
    if (type === "text_link" && typeof entity.url !== "string") throw bad("can't parse MessageEntity: Can't find field \"url\"");
    if (type === "text_mention" && typeof entity.user?.id !== "number") throw bad("can't parse MessageEntity: Can't find field \"user\"");
    return entity;
  });
}

function splitsPair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return at > 0 && at < text.length && unit >= 0xdc00 && unit <= 0xdfff;
}

function trim({ text, entities }: Formatted): Formatted {
  const codeFirst = entities.some((entity) => entity.offset === 0 && (entity.type === "pre" || entity.type === "code"));
  const lead = codeFirst ? 0 : (/^\s+/.exec(text)?.[0].length ?? 0);
  const kept = text.slice(lead).trimEnd();
  return {
    text: kept,
    entities: entities
      .map((entity) => {
        const from = Math.max(entity.offset - lead, 0);
        const to = Math.min(entity.offset + entity.length - lead, kept.length);
        return { ...entity, offset: from, length: to - from };
      })
      .filter((entity) => entity.length > 0),
  };
}

const tags: Record<string, string> = {
  b: "bold",
  strong: "bold",
  i: "italic",
  em: "italic",
  u: "underline",
  ins: "underline",
  s: "strikethrough",
  strike: "strikethrough",
  del: "strikethrough",
  code: "code",
  pre: "pre",
  a: "text_link",
  "tg-spoiler": "spoiler",
  blockquote: "blockquote",
  span: "spoiler",
};

const cannot = (why: string): Error => bad(`can't parse entities: ${why}`);

function parseHtml(source: string): Formatted {
  let text = "";
  const entities: TgEntity[] = [];
  const open: { tag: string; at: number; url?: string; language?: string }[] = [];
  let at = 0;
  while (at < source.length) {
    const char = source[at] ?? "";
    if (char === "<") {
      const end = source.indexOf(">", at);
      if (end < 0) throw cannot(`unclosed start tag at byte offset ${at}`);
      const inside = source.slice(at + 1, end);
      const closing = inside.startsWith("/");
      const name = (/^\/?\s*([\w-]+)/.exec(inside)?.[1] ?? "").toLowerCase();
      if (!(name in tags)) throw cannot(`unsupported start tag "${name}" at byte offset ${at}`);
      if (closing) {
        const top = open.pop();
        if (top?.tag !== name) throw cannot(`unmatched end tag at byte offset ${at}, expected "</${top?.tag ?? ""}>", found "</${name}>"`);
        if (text.length > top.at) {
          entities.push({
            type: tags[name] ?? "",
            offset: top.at,
            length: text.length - top.at,
            ...(top.url === undefined ? {} : { url: top.url }),
            ...(top.language === undefined ? {} : { language: top.language }),
          });
        }
      } else {
        const url = /href\s*=\s*"([^"]*)"/.exec(inside)?.[1];
        open.push({ tag: name, at: text.length, ...(url === undefined ? {} : { url: decode(url) }) });
      }
      at = end + 1;
    } else if (char === "&") {
      const found = /^&(?:lt|gt|amp|quot|#\d+|#x[0-9a-f]+);/i.exec(source.slice(at))?.[0];
      text += found === undefined ? "&" : decode(found);
      at += found?.length ?? 1;
    } else {
      text += char;
      at += 1;
    }
  }
  const left = open.pop();
  if (left !== undefined) throw cannot(`can't find end tag corresponding to start tag "${left.tag}"`);
  return { text, entities };
}

function decode(text: string): string {
  return text.replace(/&(lt|gt|amp|quot|#\d+|#x[0-9a-f]+);/gi, (whole, name: string) => {
    const fixed = { lt: "<", gt: ">", amp: "&", quot: '"' }[name.toLowerCase()];
    if (fixed !== undefined) return fixed;
    return name.startsWith("#") ? String.fromCodePoint(/^#x/i.test(name) ? parseInt(name.slice(2), 16) : Number(name.slice(1))) : whole;
  });
}

const marks: readonly (readonly [string, string])[] = [
  ["*", "bold"],
  ["__", "underline"],
  ["_", "italic"],
  ["~", "strikethrough"],
  ["||", "spoiler"],
];

function parseMarkdownV2(source: string): Formatted {
  let text = "";
  const entities: TgEntity[] = [];
  const open: { mark: string; type: string; at: number }[] = [];
  let at = 0;
  while (at < source.length) {
    const rest = source.slice(at);
    const char = source[at] ?? "";
    if (char === "\\" && /^\\[\u0001-\u007e]/.test(rest)) {
      text += source[at + 1] ?? "";
      at += 2;
    } else if (rest.startsWith("```") || char === "`") {
      const fence = rest.startsWith("```") ? "```" : "`";
      const body = new RegExp(`^${fence}((?:\\\\[\\s\\S]|[^\\\\])*?)${fence}`).exec(rest);
      if (body === null) throw cannot(`can't find end of ${fence === "`" ? "Code" : "PreCode"} entity at byte offset ${at}`);
      const inner = (body[1] ?? "").replace(/\\([\s\S])/g, "$1");
      const language = fence === "```" ? /^(\w+)\n/.exec(inner)?.[1] : undefined;
      const code = fence === "```" ? inner.replace(/^\w*\n/, "") : inner;
      if (code !== "") {
        entities.push({
          type: fence === "`" ? "code" : "pre",
          offset: text.length,
          length: code.length,
          ...(language === undefined ? {} : { language }),
        });
      }
      text += code;
      at += body[0].length;
    } else if (char === "[") {
      open.push({ mark: "[", type: "text_link", at: text.length });
      at += 1;
    } else if (char === "]" && open.at(-1)?.mark === "[") {
      const top = open.pop();
      const url = /^\]\(((?:\\[\s\S]|[^\\)])*)\)/.exec(rest);
      if (url === null || top === undefined) throw cannot(`can't find end of a URL at byte offset ${at}`);
      if (text.length > top.at)
        entities.push({ type: "text_link", offset: top.at, length: text.length - top.at, url: (url[1] ?? "").replace(/\\(.)/g, "$1") });
      at += url[0].length;
    } else {
      const mark = marks.find(([sign]) => rest.startsWith(sign));
      if (mark !== undefined) {
        const top = open.at(-1);
        if (top?.mark === mark[0]) {
          open.pop();
          if (text.length > top.at) entities.push({ type: top.type, offset: top.at, length: text.length - top.at });
        } else if (open.some((each) => each.mark === mark[0])) {
          throw cannot(`can't find end of ${mark[1]} entity at byte offset ${at}`);
        } else open.push({ mark: mark[0], type: mark[1], at: text.length });
        at += mark[0].length;
      } else if (/[_*[\]()~`>#+\-=|{}.!]/.test(char) && !(char === ">" && (at === 0 || source[at - 1] === "\n"))) {
        throw cannot(`character '${char}' is reserved and must be escaped with the preceding '\\'`);
      } else {
        text += char;
        at += 1;
      }
    }
  }
  const left = open.pop();
  if (left !== undefined) throw cannot(`can't find end of ${left.type} entity`);
  return { text, entities };
}

/** The entities the server adds to what a person types. */
export function detect(text: string): TgEntity[] {
  const found: TgEntity[] = [];
  const add = (type: string, pattern: RegExp): void => {
    for (const match of text.matchAll(pattern)) found.push({ type, offset: match.index, length: match[0].length });
  };
  add("bot_command", /(?<![\w/<>])\/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])/g);
  add("mention", /(?<![\w/])@[A-Za-z0-9_]{3,32}\b/g);
  add("url", /https?:\/\/\S+/g);
  return found.sort((a, b) => a.offset - b.offset);
}
