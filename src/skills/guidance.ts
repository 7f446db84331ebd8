/**
 * What the model is told of skills: the tools' descriptions and the guidance of the system prompt. A test has one row for
 * each point these texts must make; they stay under 2.6 KB together, because every session pays for them.
 */

export const listDescription =
  "Lists all skills with name, description, category and what they need. The index in your prompt may be shortened.";

export const viewDescription =
  "Loads a skill: its SKILL.md, or one supporting file when file names it, with the list of the folder's files. Load before you follow or change a skill; then do what it says, reading the files it points to as needed.";

export const manageDescription = `Creates and maintains skills: how to do a class of task (steps, pitfalls, checks), for all later sessions. Who someone is and how things stand belongs in memory.
Actions:
- create: content is the whole SKILL.md: front matter (---, name, description of what it does and when to use it, ---), then Markdown; category optional. One skill per class of task, not per task: first see whether an existing one can take it in.
- patch: replaces old_string by new_string in SKILL.md, or in file_path. old_string must match exactly and once, unless replace_all. The normal way to change a skill.
- edit: rewrites SKILL.md as a whole with content; only when a patch cannot do it.
- write_file, remove_file: a supporting file (file_path, file_content) under references/ (condensed knowledge), templates/ (files to copy and change), scripts/ (actions that run again unchanged) or assets/. Name it in SKILL.md.
- delete: removes the skill.
Changes count for this space; a skill shared by all is copied into it first. They are in the index from the next session on.`;

/** The guidance of the system prompt. Only where the tools are offered. */
export function skillsGuidance(): string {
  return `# Skills you keep
- After a complex task (5 or more tool calls), a tricky error overcome or a workflow that was not trivial, save how it is done as a skill for next time: skill_manage.
- When a loaded skill proves wrong, incomplete or outdated, patch it at once, without being asked. A skill nobody maintains does harm.`;
}
