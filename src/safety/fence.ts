/**
 * Wraps untrusted or recalled text in tags and takes look-alikes of those tags out of it, so that no text can close
 * its own fence. `quoteName` is the one rule for names and titles; everything that shows one to the model uses it.
 */
import { foldCharacters } from "./normalise.js";

/** The tags in use. Look-alikes of all of them are removed from any fenced text. `memory-context` must never reach a person (see FenceScrubber). */
const knownTags: readonly string[] = [
  "memory-context",
  "untrusted-content",
  "tool-output",
  "quoted-message",
  "forwarded-message",
  "earlier-messages",
  "attached-document",
  "speaker-profile",
  "session-handover",
];

/** Attributes of a fence; values are cleaned like names. */
export type FenceAttributes = Readonly<Record<string, string>>;

/**
 * The text between `<tag>` and `</tag>` on lines of their own, look-alike fences removed. `tag`: lower-case words
 * joined by hyphens. `note`: a sentence of ours that stands first inside the fence.
 */
export function fence(tag: string, text: string, attributes: FenceAttributes = {}, note?: string): string {
  const shown = Object.entries(attributes).map(([name, value]) => ` ${name}="${quoteName(value)}"`);
  const lines = [`<${tag}${shown.join("")}>`, ...(note === undefined ? [] : [note]), stripFences(text, tag), `</${tag}>`];
  return lines.join("\n");
}

/**
 * The text without anything that reads as one of our fences (or as `tag`), in any case, width, spacing, look-alike
 * letters or with characters hidden inside. Text without look-alikes is returned unchanged.
 */
export function stripFences(text: string, tag?: string): string {
  const names = (tag === undefined ? knownTags : [...knownTags, tag]).map((name) => name.replaceAll("-", ""));
  const anyFence = new RegExp(`<\\/*(?:${names.join("|")})(?:[^<>]{0,200}>)?`, "gu");
  if (quickFold(text).search(anyFence) < 0) return text;
  let clean = text;
  for (let rounds = 0; rounds < 50; rounds += 1) {
    const next = stripOnce(clean, anyFence);
    if (next === clean) return clean;
    clean = next;
  }
  return clean.replaceAll(/[<>]/gu, " ");
}

/** The same folding as `foldTag` without positions, cheap: most text holds no fence at all. */
function quickFold(text: string): string {
  const decoded = text.replaceAll(/&(?:lt|#0*60|#x0*3c);?/giu, "<").replaceAll(/&(?:gt|#0*62|#x0*3e);?/giu, ">");
  return foldCharacters(decoded).replaceAll(/[\s_-]+/gu, "");
}

function stripOnce(text: string, anyFence: RegExp): string {
  const { folded, starts, ends } = foldTag(text);
  let clean = "";
  let kept = 0;
  for (const found of folded.matchAll(anyFence)) {
    clean += text.slice(kept, starts[found.index]);
    kept = ends[found.index + found[0].length - 1] ?? text.length;
  }
  return clean + text.slice(kept);
}

/** Folds text so that a tag is recognised: no white space, hyphens or underscores; folded unit i stands at `starts[i]` to `ends[i]` of the text. */
function foldTag(text: string): {
  readonly folded: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
} {
  let folded = "";
  const starts: number[] = [];
  const ends: number[] = [];
  for (let at = 0; at < text.length;) {
    const entity = text.charAt(at) === "&" ? /^&(?:(lt|#0*60|#x0*3c)|(gt|#0*62|#x0*3e));?/iu.exec(text.slice(at, at + 12)) : null;
    const character = entity === null ? String.fromCodePoint(text.codePointAt(at) ?? 0) : entity[0];
    const plain = entity === null ? foldCharacters(character).replaceAll(/[\s_-]/gu, "") : entity[1] === undefined ? ">" : "<";
    for (let unit = 0; unit < plain.length; unit += 1) {
      starts.push(at);
      ends.push(at + character.length);
    }
    folded += plain;
    at += character.length;
  }
  return { folded, starts, ends };
}

const maxName = 80;

/**
 * A display name, group title, file name or other short foreign text as data: one line, no control or invisible
 * characters, at most 80 characters, without the brackets and quotes that our own headers use. Empty gives "unnamed".
 */
export function quoteName(text: string): string {
  const line = text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/[\p{Cf}\p{Cs}\p{Co}\p{Cn}]+/gu, "")
    .replaceAll("[", "(")
    .replaceAll("]", ")")
    .replaceAll("<", "‹")
    .replaceAll(">", "›")
    .replaceAll(/["`]/gu, "'")
    .replaceAll("·", "-")
    .replaceAll(/\s+/gu, " ")
    .trim();
  return [...line].slice(0, maxName).join("").trim() || "unnamed";
}

const longestTag = 300;

/**
 * Removes `<memory-context>` fences with their content from streamed model output, also when a tag is cut by a chunk
 * border. Text that may be the start of a tag is held back until it is decided. One scrubber per answer.
 */
export class FenceScrubber {
  #held = "";
  #depth = 0;

  /** The part of everything pushed so far that is certainly not fence and was not returned yet. */
  push(chunk: string): string {
    this.#held += chunk;
    return this.#drain(false);
  }

  /** The rest at the end of the answer. The content of a fence that was never closed is dropped. */
  flush(): string {
    const rest = this.#drain(true);
    this.#held = "";
    this.#depth = 0;
    return rest;
  }

  #drain(atEnd: boolean): string {
    let shown = "";
    while (this.#held !== "") {
      const start = this.#held.search(/[<&＜﹤‹〈⟨˂ᐸ《≺]/u);
      const before = start < 0 ? this.#held : this.#held.slice(0, start);
      if (this.#depth === 0) shown += before;
      this.#held = this.#held.slice(before.length);
      if (this.#held === "") break;
      const tag = readTag(this.#held);
      if (tag.kind === "undecided" && !atEnd && this.#held.length < longestTag) break;
      this.#held = this.#held.slice(tag.length);
      if (tag.kind === "open") this.#depth += 1;
      else if (tag.kind === "close") this.#depth = Math.max(0, this.#depth - 1);
      else if (this.#depth === 0) shown += tag.text;
    }
    return shown;
  }
}

interface ReadTag {
  readonly kind: "open" | "close" | "undecided" | "none";
  /** Units that the tag (or the one character that is none) takes. */
  readonly length: number;
  readonly text: string;
}

/** What stands at the start of `text`, which begins with something like "<". */
function readTag(text: string): ReadTag {
  const head = text.slice(0, longestTag);
  const { folded, ends } = foldTag(head);
  const first = String.fromCodePoint(text.codePointAt(0) ?? 0);
  const complete = /^<(\/*)memorycontext[^<>]{0,200}>/u.exec(folded);
  if (complete !== null) {
    const length = ends[complete[0].length - 1] ?? head.length;
    return { kind: complete[1] === "" ? "open" : "close", length, text: "" };
  }
  const named = /^<(\/*)memorycontext/u.exec(folded);
  if (named !== null) {
    if (/^[^<>]*$/u.test(folded.slice(1))) return { kind: "undecided", length: text.length, text: "" };
    return {
      kind: named[1] === "" ? "open" : "close",
      length: ends[named[0].length - 1] ?? head.length,
      text: "",
    };
  }
  const couldBe =
    "&lt;".startsWith(head.toLowerCase()) ||
    /^&#?x?[0-9a-f]{0,6}$/iu.test(head) ||
    "<memorycontext".startsWith(folded.replace(/^<\/+/u, "<"));
  return couldBe ? { kind: "undecided", length: first.length, text: first } : { kind: "none", length: first.length, text: first };
}

/** True when the text holds something that a fence marks as not the speaker's own words: tool output, documents, quotes, recall. */
export function holdsFenced(text: string): boolean {
  return foreignTags.some((tag) => text.includes(`<${tag}`));
}

const ownTags: ReadonlySet<string> = new Set(["speaker-profile", "session-handover"]);
const foreignTags: readonly string[] = knownTags.filter((tag) => !ownTags.has(tag));
