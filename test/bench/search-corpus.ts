/**
 * A synthetic conversation store of any size: English words with a Zipf law, Chinese from two-character words, some of both. The same
 * seed gives the same messages, so a scan can check what a search finds.
 */

export interface CorpusMessage {
  readonly session: string;
  readonly space: string;
  readonly role: "user" | "assistant";
  readonly author: string;
  readonly at: number;
  readonly text: string;
}

/** Mulberry32: small, fast, the same everywhere. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const frequent =
  "the and to of a in that is it for you was with on as are we be this have at but they not from by or what so can all your which do there if will when would one out about up them then has more some time could no just like other into than him only its over also new any these two may first after use how our work well way even want because here need now know get make good see look find try think day still run test file code server report build check page send write".split(
    " ",
  );
const starts =
  "ba be bi bo bu da de di do du fa fe fi fo ga ge go gu ka ke ki ko la le li lo lu ma me mi mo na ne ni no pa pe pi po ra re ri ro sa se si so ta te ti to va ve vi vo za".split(
    " ",
  );
const ends = "ban ler min tor vel dan ric son tal fin gar nel pod rus sil tam zer kin lod mar".split(" ");

function words(count: number, random: () => number): string[] {
  const made = new Set<string>(frequent);
  while (made.size < count) {
    const length = 1 + Math.floor(random() * 3);
    let word = "";
    for (let part = 0; part < length; part += 1) word += starts[Math.floor(random() * starts.length)] ?? "";
    made.add(word + (ends[Math.floor(random() * ends.length)] ?? ""));
  }
  return [...made];
}

/** Two-character words from the frequent part of the Han block. */
function hanWords(count: number, random: () => number): string[] {
  const characters = Array.from({ length: 2200 }, (_unused, index) => String.fromCodePoint(0x4e00 + index * 9));
  const pick = (): string => characters[zipf(characters.length, random)] ?? "";
  const made = new Set<string>();
  while (made.size < count) made.add(pick() + pick());
  return [...made];
}

/** A choice with probability about 1 / (rank + 2.7), the law of Zipf and Mandelbrot. */
function zipf(count: number, random: () => number): number {
  return Math.min(count - 1, Math.floor(2.7 * ((count / 2.7 + 1) ** random() - 1)));
}

export interface Corpus {
  readonly english: readonly string[];
  readonly han: readonly string[];
  messages(): Generator<CorpusMessage>;
}

export interface CorpusOptions {
  readonly count: number;
  /** Space of the n-th session of `sessionLength` messages. */
  readonly space: (session: number) => string;
  readonly sessionLength?: number;
}

export function corpus({ count, space, sessionLength = 40 }: CorpusOptions): Corpus {
  const random = seeded(20_26);
  const english = words(60_000, random);
  const han = hanWords(30_000, random);
  function sentence(random: () => number): string {
    const kind = random();
    const parts: string[] = [];
    const isHan = kind >= 0.55;
    const isMixed = kind >= 0.45 && kind < 0.55;
    const length = isHan ? 6 + Math.floor(random() * 20) : 6 + Math.floor(random() * 16);
    for (let index = 0; index < length; index += 1) {
      if (isHan || (isMixed && random() < 0.5)) parts.push(`${han[zipf(han.length, random)] ?? ""}${random() < 0.12 ? "，" : ""}`);
      else parts.push(` ${english[zipf(english.length, random)] ?? ""} `);
    }
    return parts.join("").replaceAll(/\s+/gu, " ").trim();
  }
  return {
    english,
    han,
    *messages() {
      const own = seeded(1);
      for (let index = 0; index < count; index += 1) {
        const session = Math.floor(index / sessionLength);
        yield {
          session: `s${session}`,
          space: space(session),
          role: index % 2 === 0 ? "user" : "assistant",
          author: index % 2 === 0 ? "Amy" : "mneme",
          at: 1_600_000_000_000 + index * 60_000,
          text: sentence(own),
        };
      }
    },
  };
}
