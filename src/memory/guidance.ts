/**
 * What the model is told of memory: the tool's description and the guidance of the system prompt. A test has one row
 * for each point these texts must make; they stay under 3.2 KB together, because every session pays for them.
 */

/** Which stores are switched on. */
export interface MemorySwitches {
  readonly memory: boolean;
  readonly user: boolean;
}

const targets = {
  user: "`user`: who this person is (preferences, habits, role, time zone, style).",
  memory: "`memory`: your own notes (environment, conventions, tool quirks, lessons).",
} as const;

/** The tool's description, naming only the targets that are switched on. */
export function memoryDescription(switches: MemorySwitches): string {
  return `Keeps short facts for all later sessions. Save without being asked when
- the person corrects you, says to remember something, or asks you not to do it again;
- they tell a preference, habit or personal detail (name, role, time zone, coding style);
- you learn about the environment (system, installed tools, project structure), a convention, an API quirk, or a workflow peculiar to their set-up;
- any other stable fact will help in later sessions.
Preferences and corrections come before environment facts, those before procedures. The best entry is one that saves the person from repeating themselves.
Do not save task progress, outcomes, logs of finished work or TODO state: session_search finds those. A newly found way of working, or a solved problem that may return, is a skill. Skip the trivial, what is easily found again, raw dumps and temporary state.
Targets:
${lines(switches)}
Actions: \`add\` a new entry; \`replace\` the entry that contains old_text with content; \`remove\` the entry that contains old_text. Saved entries enter the prompt of the next session.`;
}

/** The guidance of the system prompt; empty when both stores are off (then there is no tool either). */
export function memoryGuidance(switches: MemorySwitches): string {
  if (!switches.memory && !switches.user) return "";
  return `# Memory
You keep knowledge between sessions with the memory tool. What is saved is put before you in every later session, so keep it short and save only what will still matter then: durable facts such as preferences, set-up details, tool quirks, standing conventions.
- Wording for all time (from now on, each time, usually, never again) speaks for saving; wording for this occasion (this time, this text, for now) speaks against it.
- A remark that extends, corrects or contradicts an entry is a replace, not an add.
- When the store is full, never repeat the same add: merge entries or remove a worthless one first.
- Write entries as declarative facts, not as orders to yourself. "Prefers short answers", not "Always answer briefly". "The project's tests run with pnpm test", not "Run pnpm test". A stored order is obeyed again in later sessions: it repeats work and overrides what the person asks then.
- Procedures belong in skills.`;
}

function lines(switches: MemorySwitches): string {
  return (["user", "memory"] as const)
    .filter((target) => switches[target])
    .map((target) => `- ${targets[target]}`)
    .join("\n");
}
