/**
 * Brings text to the forms that the scan matches on, so that case, width, look-alike letters, accents, spacing and
 * invisible characters make no difference. The forms are for matching only: they are never stored or shown.
 */

/** Letters of other scripts that look like Latin ones, and typographic marks, after NFKD and lower-casing. */
const lookAlikes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    a: "аɑα",
    b: "ьƅвʙ",
    c: "сϲᴄ",
    d: "ԁɗ",
    e: "еєεҽ",
    f: "ғƒ",
    g: "ɡցɢ",
    h: "һհн",
    i: "іıιɩӏ",
    j: "јʝ",
    k: "кκҝ",
    l: "ⅼǀӀʟ",
    m: "мᴍ",
    n: "пոɴη",
    o: "оοօᴏσө",
    p: "рρᴘ",
    q: "ԛգ",
    r: "гʀɾ",
    s: "ѕꜱ",
    t: "тτᴛ",
    u: "υսᴜц",
    v: "ѵνᴠ",
    w: "ѡωԝᴡш",
    x: "хχ×",
    y: "уүγʏ",
    z: "ᴢʐ",
    "'": "‘’‛ʼ′",
    '"': "“”„‟«»″",
    "-": "‐‑‒–—―−﹣",
    "/": "⁄∕╱",
    "<": "‹〈⟨˂ᐸ《≺",
    ">": "›〉⟩˃ᐳ》≻",
  }).flatMap(([plain, others]) => [...others].map((other) => [other, plain] as const)),
);

/** Traditional characters that occur in the patterns, and their simplified forms. */
const simplified: ReadonlyMap<string, string> = new Map(
  [
    ..."視视無无規规則则設设統统訴诉瞞瞒騙骗執执發发傳传轉转對对話话鑰钥碼码憑凭證证開开啟启現现從从這这個个後后會会須须務务將将應应該该與与讓让項项寫写讀读檔档環环變变運运腳脚導导鏈链複复製制請请隱隐藏藏記记錄录計计劃划動动態态權权種种裝装遺遗棄弃來来偽伪約约業业員员為为時时間间過过內内實实覆覆蓋盖繞绕刪删資资據据別别輸输網网",
  ].reduce<[string, string][]>((pairs, character, index, all) => {
    const plain = all[index + 1];
    if (index % 2 === 0 && plain !== undefined) pairs.push([character, plain]);
    return pairs;
  }, []),
);

const leet: ReadonlyMap<string, string> = new Map(
  Object.entries({ "0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", $: "s" }),
);

const invisible = /[\p{Mn}\p{Me}\p{Cf}\u{3164}\u{115F}\u{1160}\u{FFA0}\u{2800}]+/gu;

/** Text folded: no accents, no case, no width, Latin for look-alikes, simplified characters, nothing for invisible ones. */
export function foldCharacters(text: string): string {
  const plain = text.normalize("NFKD").toLowerCase().normalize("NFKD").replaceAll(invisible, "");
  return plain.replaceAll(/[^\p{ASCII}]/gu, (character) => lookAlikes.get(character) ?? simplified.get(character) ?? character);
}

function fold(text: string): string {
  return foldCharacters(decodeEscapes(text));
}

/** Numeric HTML entities, the named brackets and \u escapes become what they stand for. */
function decodeEscapes(text: string): string {
  return text
    .replaceAll(/&#x([0-9a-f]{2,6});?|\\u\{?([0-9a-f]{4,6})\}?/giu, (whole, entity?: string, escape?: string) =>
      fromCode(entity ?? escape, 16, whole),
    )
    .replaceAll(/&#(\d{2,7});?/gu, (whole, digits: string) => fromCode(digits, 10, whole))
    .replaceAll(/&(lt|gt);/giu, (_whole, name: string) => (name.toLowerCase() === "lt" ? "<" : ">"));
}

function fromCode(digits: string | undefined, radix: number, otherwise: string): string {
  const code = Number.parseInt(digits ?? "", radix);
  return Number.isNaN(code) || code > 0x10ffff || code < 0x20 || (code >= 0xd800 && code <= 0xdfff)
    ? otherwise
    : String.fromCodePoint(code);
}

export interface NormalForms {
  /** Folded, white space collapsed, punctuation kept: for commands and markup. With and without shell escapes. */
  readonly code: readonly string[];
  /** Folded, lines kept: for what counts only at the start of a line or within one. */
  readonly lines: readonly string[];
  /** Folded, punctuation turned to spaces, word-internal marks dropped: for English sentences. Several readings. */
  readonly words: readonly string[];
  /** Letters and digits only: for Chinese, and for English letters that were pulled apart. */
  readonly squeezed: readonly string[];
}

/** Marks where a sentence plainly ends and the next one begins; a line break in the squeezed form, which no pattern crosses. */
const sentenceEnd = "\u{E000}";

/** Text to its matching forms. Pure; the cost is linear in the length. */
export function normalForms(text: string): NormalForms {
  const folded = fold(text);
  const unbroken = folded.replaceAll(/\\\r?\n/gu, " ").replaceAll(/(?<=\p{L})-\s*\n\s*(?=\p{L})/gu, "");
  const joined = joinLetters(unbroken);
  const unescaped = unbroken.replaceAll(/(?<=\p{L})(?:""|''|\\)(?=\p{L})/gu, "");
  const glued = joined.replaceAll(/(?<=\p{L})[-_.*·"|/\\+~]+(?=\p{L})/gu, "");
  const letters = joinLetters(
    unbroken.replaceAll(/[0-9@$]/gu, (mark, at: number) => (besideLetter(unbroken, at) ? (leet.get(mark) ?? mark) : mark)),
  );
  const ended = fold(text.replaceAll(/(?<=\p{Ll}{2})[.!?]\s+(?=\p{Lu}\p{Ll})|[。！？]|\n[^\S\n]*\n/gu, sentenceEnd));
  return {
    code: distinct([unbroken, unescaped].map((form) => form.replaceAll(/\s+/gu, " ").trim())),
    lines: distinct(
      [unbroken, unescaped].map((form) =>
        form
          .replaceAll(/[^\S\n]+/gu, " ")
          .replaceAll(/ ?\n ?/gu, "\n")
          .trim(),
      ),
    ),
    words: distinct([joined, glued, letters].map(wordForm)),
    squeezed: [ended.replaceAll(/[^\p{L}\p{N}\u{E000}]+/gu, "").replaceAll(sentenceEnd, "\n")],
  };
}

function distinct(forms: readonly string[]): readonly string[] {
  return [...new Set(forms)];
}

function besideLetter(text: string, at: number): boolean {
  return /\p{L}/u.test(text.charAt(at - 1)) || /\p{L}/u.test(text.charAt(at + 1));
}

/** Joins letters that stand one by one ("i g n o r e", "i.g.n.o.r.e"); a wider gap stays a word border. */
function joinLetters(text: string): string {
  return text.replaceAll(/(?<![\p{L}\p{N}])\p{L}(?:[ \t._\-*|/]\p{L}){3,}(?![\p{L}\p{N}])/gu, (run) => run.replaceAll(/[^\p{L}]/gu, ""));
}

/** Sentence ends are kept as " . " so that a pattern cannot join the end of one sentence with the start of the next. */
function wordForm(text: string): string {
  const marked = text
    .replaceAll(/'(?=\p{L})/gu, "")
    .replaceAll(/[.!?。！？](?=\s|$)/gu, " . ")
    .replaceAll(/[^\p{L}\p{N}.]+/gu, " ")
    .replaceAll(/(?<! )\.(?! )/gu, " ");
  return ` ${marked.replaceAll(/\s+/gu, " ").trim()} `;
}

/**
 * The first character that hides or reorders text, or undefined. Joiners inside emoji and in scripts that need them,
 * flag tags and direction marks in right-to-left text are ordinary writing and pass.
 */
export function hiddenCharacter(text: string): string | undefined {
  if (plainText.test(text)) return undefined;
  const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u.test(text);
  const visible = text
    .replaceAll(/\u{1F3F4}[\u{E0061}-\u{E007A}\u{E0030}-\u{E0039}]{2,6}\u{E007F}/gu, "")
    .replaceAll(/(?<=[\p{Extended_Pictographic}\u{FE0F}\p{Emoji_Modifier}])\u{200D}(?=\p{Extended_Pictographic})/gu, "")
    .replaceAll(/(?<=[\p{Script=Arabic}\p{Script=Syriac}\p{M}])[\u{200C}\u{200D}](?=[^\p{ASCII}\p{Cf}\p{Script=Han}])/gu, "")
    .replaceAll(/(?<=\p{Script=Han})[\u{E0100}-\u{E01EF}\u{FE00}-\u{FE02}](?![\u{E0100}-\u{E01EF}\u{FE00}-\u{FE0F}])/gu, "")
    .replaceAll(/(?<![\u{FE0E}\u{FE0F}])[\u{FE0E}\u{FE0F}](?![\u{FE0E}\u{FE0F}])/gu, "")
    .replace(/^\u{FEFF}/u, "");
  const found = visible.match(hidden)?.[0];
  if (found !== undefined) return found;
  return rightToLeft ? undefined : visible.match(directionMark)?.[0];
}

/** Format characters but direction marks and number signs, fillers, variation selectors, tags, controls but tab and line ends. */
const hidden =
  /(?![\u{200E}\u{200F}\u{061C}\u{0600}-\u{0605}\u{06DD}\u{070F}\u{08E2}])[\p{Cf}\u{034F}\u{115F}\u{1160}\u{17B4}\u{17B5}\u{180B}-\u{180F}\u{2800}\u{3164}\u{FFA0}\u{E0100}-\u{E01EF}\u{FE00}-\u{FE0F}\u{0000}-\u{0008}\u{000B}\u{000C}\u{000E}-\u{001F}\u{007F}-\u{009F}]/u;
const directionMark = /[\u{200E}\u{200F}\u{061C}]/u;
const plainText = /^[\t\n\r\u{20}-\u{7E}]*$/u;
