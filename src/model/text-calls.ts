/**
 * Tool calls that a model wrote as text (field report MC-14): holds such text back while it streams and reads the calls
 * from it at the end. Text that turns out to be something else is released whole, never altered.
 */
import { overlap } from "./stream-reasoning.js";

export interface TextCall {
  readonly name: string;
  /** The arguments as JSON text. */
  readonly arguments: string;
}

/** How models write calls as text: their own template's tags, and what LM Studio leaves standing when it cannot read a call. */
const tags = [
  { open: "<tool_call>", close: "</tool_call>" },
  { open: "[TOOL_REQUEST]", close: "[END_TOOL_REQUEST]" },
] as const;
const callName = /^[a-zA-Z0-9_-]{1,64}$/;
const callKeys = new Set(["name", "arguments", "parameters", "type", "id"]);
/** A held text longer than this is an answer, not a call. */
const maxHeld = 65_536;

/**
 * Reads a text that consists of nothing but calls: one JSON object `{name, arguments|parameters}`, an array of them, or
 * blocks of a tag. Undefined when it is anything else. A name that is not offered still counts when the object has
 * no key beside those of a call, so that a trace of a missing tool is answered instead of posted.
 */
export function readTextCalls(text: string, offered: ReadonlySet<string>): TextCall[] | undefined {
  const bodies = callBodies(text.trim());
  if (bodies === undefined) return undefined;
  const calls: TextCall[] = [];
  for (const body of bodies) {
    const value = parse(body);
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      const call = readCall(one, offered);
      if (call === undefined) return undefined;
      calls.push(call);
    }
  }
  return calls.length === 0 ? undefined : calls;
}

function callBodies(text: string): string[] | undefined {
  const tag = tags.find(({ open }) => text.startsWith(open));
  if (tag === undefined) return text.startsWith("{") || text.startsWith("[") ? [text] : undefined;
  const { open: openTag, close: closeTag } = tag;
  const bodies = text
    .split(openTag)
    .slice(1)
    .map((part) => part.trim());
  const last = bodies.length - 1;
  // Some servers stop before the last closing tag.
  if (bodies.some((body, index) => index !== last && !body.endsWith(closeTag))) return undefined;
  return bodies.map((body) => (body.endsWith(closeTag) ? body.slice(0, -closeTag.length) : body));
}

function readCall(value: unknown, offered: ReadonlySet<string>): TextCall | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const record = value as Readonly<Record<string, unknown>>;
  const { name } = record;
  if (typeof name !== "string" || !callName.test(name)) return undefined;
  const input = record["arguments"] ?? record["parameters"];
  const text = typeof input === "object" && input !== null && !Array.isArray(input) ? JSON.stringify(input) : objectText(input);
  if (text === undefined) return undefined;
  if (!offered.has(name) && Object.keys(record).some((key) => !callKeys.has(key))) return undefined;
  return { name, arguments: text };
}

/** Some models write the arguments as a string that holds the JSON. */
function objectText(input: unknown): string | undefined {
  const value = typeof input === "string" ? parse(input) : undefined;
  return typeof input === "string" && typeof value === "object" && value !== null && !Array.isArray(value) ? input : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Holds back text that may be a call. `push` gives what may be shown now; `end` gives the calls or the held rest. */
export class TextCallHold {
  readonly #offered: ReadonlySet<string>;
  #state: "start" | "holding" | "text" = "start";
  #held = "";

  constructor(offered: ReadonlySet<string>) {
    this.#offered = offered;
    if (offered.size === 0) this.#state = "text";
  }

  push(piece: string): string {
    if (this.#offered.size === 0) return piece;
    this.#held += piece;
    if (this.#state === "start") this.#decide();
    if (this.#state === "text") return this.#textBeforeTag();
    return this.#state === "holding" && this.#held.length > maxHeld ? this.#release() : "";
  }

  end(): { readonly calls: readonly TextCall[]; readonly text: string } {
    const rest = this.#held;
    this.#held = "";
    const calls = this.#offered.size === 0 ? undefined : readTextCalls(rest, this.#offered);
    return calls === undefined ? { calls: [], text: rest } : { calls, text: "" };
  }

  #decide(): void {
    const first = this.#held.trimStart()[0];
    if (first === undefined) return;
    this.#state = first === "{" || first === "[" ? "holding" : "text";
  }

  #textBeforeTag(): string {
    const found = tags.map(({ open }) => this.#held.indexOf(open)).filter((at) => at >= 0);
    if (found.length > 0) this.#state = "holding";
    const end = found.length > 0 ? Math.min(...found) : this.#held.length - Math.max(...tags.map(({ open }) => overlap(this.#held, open)));
    const text = this.#held.slice(0, end);
    this.#held = this.#held.slice(end);
    return text;
  }

  #release(): string {
    this.#state = "text";
    const text = this.#held;
    this.#held = "";
    return text;
  }
}
