/**
 * Removes secrets from anything that is logged or shown: the configured ones literally, others by their known shape.
 * It is the last line, not a licence to log secrets; a secret of unknown shape that is not configured passes.
 */

const mark = "[redacted]";

interface Shape {
  readonly match: RegExp;
  /** What stays visible around the secret. */
  readonly replace: string;
  /** False where the shape is too wide to refuse a text because of it (it is still hidden in logs). */
  readonly certain: boolean;
}

const shapes: readonly Shape[] = [
  {
    match: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/gu,
    replace: mark,
    certain: true,
  },
  { match: /\bsk-(?=[\w-]*\d)[A-Za-z0-9_-]{6,}/gu, replace: `sk-${mark}`, certain: true },
  { match: /\b(?:sk|rk|pk|whsec)_(?:live|test)_[A-Za-z0-9]{8,}/gu, replace: mark, certain: true },
  {
    match: /\b(?:hch-v\d-|sm_|gsk_|hf_|r8_|glpat-|npm_|dop_v1_|shpat_|SG\.)(?=[\w.-]*\d)[A-Za-z0-9_.-]{16,}/gu,
    replace: mark,
    certain: true,
  },
  {
    match: /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/gu,
    replace: mark,
    certain: true,
  },
  { match: /\bx(?:ox[abeoprs]|app)-[A-Za-z0-9-]{8,}/gu, replace: mark, certain: true },
  { match: /\bhttps:\/\/hooks\.slack\.com\/services\/[\w/]+/gu, replace: mark, certain: true },
  {
    match: /\/api(\/v\d+)?\/webhooks\/(\d{5,})\/[\w-]{20,}/gu,
    replace: `/api$1/webhooks/$2/${mark}`,
    certain: true,
  },
  { match: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/gu, replace: mark, certain: true },
  { match: /\bAIza[\w-]{30,}/gu, replace: mark, certain: true },
  { match: /\bya29\.[\w-]{20,}/gu, replace: mark, certain: true },
  { match: /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/gu, replace: mark, certain: true },
  { match: /\/(file\/)?bot\d{2,}:[^/\s"']+/gu, replace: `/$1bot${mark}`, certain: true },
  { match: /(?<![\w:])\d{8,12}:[A-Za-z0-9_-]{30,}/gu, replace: mark, certain: true },
  { match: /\b[MNO][A-Za-z\d_-]{22,28}\.[\w-]{5,7}\.[\w-]{25,}/gu, replace: mark, certain: true },
  {
    match: /\b(Bearer|Bot|Basic)(\s+|%20)(?=[\w.~+/=-]*[\d.=_-])[\w.~+/=-]{8,}/giu,
    replace: `$1 ${mark}`,
    certain: false,
  },
  {
    match: /\b((?:[a-z][a-z0-9+.-]{0,20}):\/\/[^\s:/@"']{0,100}:)[^\s/@"']{1,300}@/giu,
    replace: `$1${mark}@`,
    certain: false,
  },
  {
    match: /([?&](?:access_token|api_?key|key|token|secret|signature|sig|password|auth|code)=)[^&\s"'#]+/giu,
    replace: `$1${mark}`,
    certain: false,
  },
  {
    match:
      /((?:["']?)\b(?:x-)?(?:api[-_ ]?key|access[-_]?token|auth[-_]?token|bot[-_]?token|client[-_]?secret|signing[-_]?secret|password|passwd|authorization|secret|cookie)["']?\s*[:=]\s*["']?)(?!\[redacted\]|(?:Bearer|Bot|Basic)\b)[^\s"',;}]{4,}/giu,
    replace: `$1${mark}`,
    certain: false,
  },
];

const secretName =
  /^(?:x-)?(?:.*[-_.])?(?:authorization|cookie|set-cookie|password|passwd|passphrase|secret|token|api[-_]?key|apikey|private[-_]?key|credentials?)$|(?:Token|Secret|Password|ApiKey|PrivateKey)$/iu;
/** Names that end like a secret's but hold numbers of tokens or the like. */
const harmlessName = /^(?:max|min|input|output|cached|total|context|prompt|completion|used)[-_]?(?:output|input)?[-_]?tokens?$/iu;

/** True when the text holds something whose shape is that of a key, token or private key. */
export function containsSecret(text: string): boolean {
  return shapes.some(({ match, certain }) => certain && text.search(match) >= 0);
}

export interface Redactor {
  /** The text without secrets. Text without secrets is returned unchanged. */
  text(text: string): string;
  /**
   * A copy of any value that may be logged: strings cleaned, values under secret names hidden, errors turned into
   * plain objects with their causes, cycles and depths over 8 cut. Never throws.
   */
  value(value: unknown): unknown;
}

/** `secrets`: the configured ones, literally; shorter than 4 characters are ignored, because they would hide ordinary text. */
export function createRedactor({ secrets }: { readonly secrets: readonly string[] }): Redactor {
  const literals = [...new Set(secrets.filter((secret) => secret.length >= 4).flatMap(spellings))].sort((a, b) => b.length - a.length);

  function text(input: string): string {
    let clean = input;
    for (const literal of literals) clean = clean.replaceAll(literal, mark);
    for (const { match, replace } of shapes) clean = clean.replace(match, replace);
    return clean;
  }

  function value(input: unknown, depth: number, above: readonly object[]): unknown {
    if (typeof input === "string") return text(input);
    if (typeof input !== "object" || input === null) return leaf(input);
    if (above.includes(input)) return "[circular]";
    if (depth >= 8) return "[deep]";
    const inside = [...above, input];
    const each = (items: Iterable<unknown>): unknown[] => [...items].map((item) => value(item, depth + 1, inside));
    if (Array.isArray(input) || input instanceof Map || input instanceof Set) return each(input);
    const plain = asText(input);
    if (plain !== undefined) return text(plain);
    const fields = input instanceof Error ? errorFields(input) : fieldsOf(input);
    return Object.fromEntries(
      fields.map(([name, field]) => [name.length > 20 ? text(name) : name, hides(name, field) ? mark : value(field, depth + 1, inside)]),
    );
  }

  return { text, value: (input) => value(input, 0, []) };
}

function leaf(input: unknown): unknown {
  if (typeof input === "bigint") return input.toString();
  return typeof input === "function" || typeof input === "symbol" ? `[${typeof input}]` : input;
}

/** Objects that are one value in a log line. */
function asText(input: object): string | undefined {
  if (input instanceof Date) return Number.isNaN(input.getTime()) ? "Invalid Date" : input.toISOString();
  if (input instanceof URL) return input.href;
  return ArrayBuffer.isView(input) || input instanceof ArrayBuffer ? `[${input.byteLength} bytes]` : undefined;
}

function hides(name: string, field: unknown): boolean {
  return (
    field !== undefined &&
    field !== null &&
    typeof field !== "boolean" &&
    typeof field !== "number" &&
    secretName.test(name) &&
    !harmlessName.test(name)
  );
}

function errorFields(error: Error): [string, unknown][] {
  const fields: [string, unknown][] = [
    ["name", error.name],
    ["message", error.message],
    ["stack", error.stack],
  ];
  if (error.cause !== undefined) fields.push(["cause", error.cause]);
  return [...fields, ...fieldsOf(error).filter(([name]) => !["name", "message", "stack", "cause"].includes(name))];
}

/** Own fields; a getter that throws is told as such instead of breaking the log. */
function fieldsOf(object: object): [string, unknown][] {
  return Object.keys(object).map((name) => {
    try {
      return [name, (object as Readonly<Record<string, unknown>>)[name]];
    } catch {
      return [name, "[unreadable]"];
    }
  });
}

/** A secret as it may appear in a URL or inside JSON. */
function spellings(secret: string): string[] {
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
}
