/**
 * Which session a question is about: pure arithmetic on lists of matching ids. Word weights are counted within the scope searched, never
 * over all spaces, so other people's messages change neither the order nor the score.
 */

/** Saturation and length constants of BM25. */
const k1 = 1.2;
const b = 0.75;
/** What a word counts that stands only in the message before or behind. */
const neighbourShare = 0.5;
/** A session's second and third best message. */
const laterShares = [1, 0.3, 0.15];
/** Weight of the best stretch beside the best messages. */
const stretchShare = 1.5;

/** Ids that match one term, newest first; `isCut`: there are more. */
export interface Postings {
  readonly ids: Float64Array;
  readonly isCut: boolean;
}

/** Bit per term that a document matches, and the terms' weights. */
export interface Matches {
  readonly masks: ReadonlyMap<number, number>;
  readonly weights: readonly number[];
}

/** `total`: documents of the scope. A term cut off after n hits in the newest part is taken to be as frequent in the rest. `counts`: whether a document may be found. */
export function collect(terms: readonly Postings[], total: number, counts: (id: number) => boolean): Matches {
  const masks = new Map<number, number>();
  const newest = Math.max(0, ...terms.map(({ ids }) => ids[0] ?? 0));
  const oldest = Math.min(...terms.map(({ ids }) => ids.at(-1) ?? Infinity));
  const weights = terms.map(({ ids, isCut }, term) => {
    for (const id of ids) if (counts(id)) masks.set(id, (masks.get(id) ?? 0) | (1 << term));
    const seen = newest - (ids.at(-1) ?? newest) + 1;
    const found = isCut ? Math.min(total, (ids.length * (newest - oldest + 1)) / seen) : ids.length;
    return Math.log(1 + (Math.max(total, found) - found + 0.5) / (found + 0.5));
  });
  return { masks, weights };
}

export function weightOf(mask: number, weights: readonly number[]): number {
  let sum = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) sum += weights[31 - Math.clz32(rest & -rest)] ?? 0;
  return sum;
}

/** The `count` documents with the greatest weight, newer ones first among equals. */
export function best({ masks, weights }: Matches, count: number): number[] {
  // Equal masks weigh the same, and there are few of them: only the groups that are needed are sorted.
  const groups = new Map<number, number[]>();
  for (const [id, mask] of masks) {
    const group = groups.get(mask);
    if (group === undefined) groups.set(mask, [id]);
    else group.push(id);
  }
  const weighed = [...groups].map(([mask, ids]) => ({ weight: weightOf(mask, weights), ids })).toSorted((a, b) => b.weight - a.weight);
  const chosen: number[] = [];
  for (const { ids } of weighed) {
    if (chosen.length >= count) break;
    chosen.push(...ids.toSorted((a, b) => b - a).slice(0, count - chosen.length));
  }
  return chosen;
}

/** A candidate message with its place in its conversation. */
export interface MessageCandidate {
  readonly id: number;
  readonly family: string;
  readonly length: number;
  readonly before: number | undefined;
  readonly behind: number | undefined;
}

export interface StretchCandidate {
  readonly id: number;
  readonly family: string;
  readonly from: number;
  readonly to: number;
  readonly words: number;
}

export interface RankedSession {
  readonly family: string;
  readonly score: number;
  /** Best first. */
  readonly messageIds: readonly number[];
  readonly stretch?: StretchCandidate;
}

export interface RankInput {
  readonly messages: readonly MessageCandidate[];
  readonly messageMatches: Matches;
  readonly stretches: readonly StretchCandidate[];
  readonly stretchMatches: Matches;
  /** False: a word counts only where it stands. */
  readonly withNeighbours: boolean;
}

interface Scored {
  readonly id: number;
  readonly score: number;
}

/** Best session first. Messages and stretches are each scaled to their best before they are added. */
export function rankSessions(input: RankInput): RankedSession[] {
  const meanLength = mean(input.messages.map(({ length }) => length));
  const meanWords = mean(input.stretches.map(({ words }) => words));
  const messages = byFamily(input.messages, (message) => messageScore(message, input, meanLength));
  const stretches = byFamily(input.stretches, (stretch) => stretchScore(stretch, input, meanWords));
  const messageSums = new Map([...messages].map(([family, scored]) => [family, sumOf(scored)]));
  const bestMessage = Math.max(...messageSums.values(), Number.MIN_VALUE);
  const bestStretch = Math.max(...[...stretches.values()].map(([first]) => first?.score ?? 0), Number.MIN_VALUE);
  const stretchById = new Map(input.stretches.map((stretch) => [stretch.id, stretch]));
  const whole = input.stretches.length > 0 ? 1 + stretchShare : 1;
  return [...new Set([...messages.keys(), ...stretches.keys()])]
    .map((family) => {
      const [stretch] = stretches.get(family) ?? [];
      const found = stretch === undefined ? undefined : stretchById.get(stretch.id);
      const score = (messageSums.get(family) ?? 0) / bestMessage + (stretchShare * (stretch?.score ?? 0)) / bestStretch;
      return {
        family,
        score: score / whole,
        messageIds: (messages.get(family) ?? []).map(({ id }) => id),
        ...(found === undefined ? {} : { stretch: found }),
      };
    })
    .sort((one, other) => other.score - one.score || (other.messageIds[0] ?? 0) - (one.messageIds[0] ?? 0));
}

/** At least 1. */
function mean(values: readonly number[]): number {
  return Math.max(1, values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length));
}

function byFamily<Candidate extends { readonly id: number; readonly family: string }>(
  candidates: readonly Candidate[],
  score: (candidate: Candidate) => number,
): Map<string, Scored[]> {
  const families = new Map<string, Scored[]>();
  for (const candidate of candidates) {
    const scored = families.get(candidate.family) ?? [];
    scored.push({ id: candidate.id, score: score(candidate) });
    families.set(candidate.family, scored);
  }
  for (const scored of families.values()) scored.sort((one, other) => other.score - one.score || other.id - one.id);
  return families;
}

function sumOf(scored: readonly Scored[]): number {
  return laterShares.reduce((sum, share, place) => sum + share * (scored[place]?.score ?? 0), 0);
}

function messageScore({ id, length, before, behind }: MessageCandidate, input: RankInput, meanLength: number): number {
  const { masks, weights } = input.messageMatches;
  const own = masks.get(id) ?? 0;
  const around = input.withNeighbours ? (maskOf(masks, before) | maskOf(masks, behind)) & ~own : 0;
  const scale = (k1 + 1) / (1 + k1 * (1 - b + b * (length / meanLength)));
  return scale * (weightOf(own, weights) + neighbourShare * weightOf(around, weights));
}

function maskOf(masks: ReadonlyMap<number, number>, id: number | undefined): number {
  return id === undefined ? 0 : (masks.get(id) ?? 0);
}

/** How often a word occurs in a stretch is taken from the messages known to hold it. */
function stretchScore(stretch: StretchCandidate, input: RankInput, meanWords: number): number {
  const { masks, weights } = input.stretchMatches;
  const mask = masks.get(stretch.id) ?? 0;
  const counts = occurrences(stretch, input);
  const norm = k1 * (1 - b + b * (stretch.words / meanWords));
  let score = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) {
    const term = 31 - Math.clz32(rest & -rest);
    const times = Math.max(1, counts[term] ?? 0);
    score += ((weights[term] ?? 0) * times * (k1 + 1)) / (times + norm);
  }
  return score;
}

function occurrences(stretch: StretchCandidate, { messages, messageMatches }: RankInput): number[] {
  const counts: number[] = [];
  for (const message of messages) {
    if (message.family !== stretch.family || message.id < stretch.from || message.id > stretch.to) continue;
    for (let rest = messageMatches.masks.get(message.id) ?? 0; rest !== 0; rest &= rest - 1) {
      const term = 31 - Math.clz32(rest & -rest);
      counts[term] = (counts[term] ?? 0) + 1;
    }
  }
  return counts;
}

/** Letters at a word's beginning that must agree: endings differ where only the stem was found. */
const stemLength = 5;

/** The texts that share the most word beginnings with quoted terms, best first; the first text where none shares any. */
export function likeliest<Text extends { readonly text: string }>(texts: readonly Text[], terms: readonly string[], count: number): Text[] {
  const stems = terms.map((term) => term.replaceAll(/["*\s]/gu, "").slice(0, stemLength)).filter((stem) => stem !== "");
  const scored = texts.map((one) => {
    const lower = one.text.toLowerCase();
    return { one, shared: stems.filter((stem) => lower.includes(stem)).length };
  });
  const sharing = scored.filter(({ shared }) => shared > 0).toSorted((a, b) => b.shared - a.shared);
  return (sharing.length > 0 ? sharing.slice(0, count) : scored.slice(0, 1)).map(({ one }) => one);
}
