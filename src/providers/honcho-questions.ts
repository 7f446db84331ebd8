/** What Honcho is asked about a person: pure texts. One pass asks; a second looks for gaps; a third settles what the two disagree on. */

/** Nothing was asked in this session yet. */
export function coldQuestion(query: string): string {
  return [
    "Who is this person? What do they prefer, what do they want to achieve, and how do they work?",
    "Say what lets an assistant that knows nothing yet help them well at once.",
    begun(query),
  ].join("\n");
}

export function warmQuestion(query: string): string {
  return [
    "Given this session so far: what about this person matters for the current conversation?",
    "Put what is going on now before their biography; leave out what does not bear on it.",
    begun(query),
  ].join("\n");
}

export function gapQuestion(first: string): string {
  return [
    "This was said about the person:",
    quoted(first),
    "What is still unknown there? What is really known of their present state and needs? Rest it on evidence from recent sessions, and say where there is none.",
  ].join("\n");
}

export function settleQuestion(first: string, second: string): string {
  return [
    "Two answers were given about the person. The first:",
    quoted(first),
    "The second:",
    quoted(second),
    "Do they agree? Settle every contradiction by the better evidence, then end with a short synthesis that helps in the present conversation. Answer with the synthesis alone.",
  ].join("\n");
}

const longestQuote = 3000;

function begun(query: string): string {
  return `Their newest words:\n${quoted(query)}`;
}

function quoted(text: string): string {
  return text
    .slice(0, longestQuote)
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}
