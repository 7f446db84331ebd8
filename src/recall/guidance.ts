/**
 * What the model is told of recall: the tool's description and the guidance of the system prompt. A test has one row for each point that
 * they must make; together they stay under 1.6 KB, because every session pays for them.
 */

export const searchDescription = `Searches every past session of this space. Two modes:
- without query: a list of recent sessions. Start here when asked what was being worked on lately: it is immediate and costs no model call.
- with query: the best matching sessions, each with a recap or excerpts.
Search unasked when
- someone says that something was done, mentioned or discussed before;
- a topic, project, person or idea sounds known but is neither in context nor in memory;
- a similar problem may have been solved before;
- you are asked what was decided or how something was fixed.
Searching is cheap and beats guessing.
Query: a natural question, or words: plain words mean AND, OR between words for width, "quotes" for exact phrases, NOT, prefix*. If a wide OR finds nothing, try the words one by one, in parallel.`;

/** The guidance of the system prompt. */
export function searchGuidance(): string {
  return `# Past conversations
When someone refers to an earlier conversation, or earlier context probably exists, use session_search first; ask them to repeat only afterwards.`;
}
