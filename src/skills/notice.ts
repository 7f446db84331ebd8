/** What a skill_manage call changed, in a few words for the person; read from the tool's own result, never from the model's claim. */

const done: Readonly<Record<string, string>> = {
  create: "created",
  edit: "rewritten",
  patch: "patched",
  delete: "deleted",
  write_file: "extended",
  remove_file: "shortened",
};

/** `Skill '…' patched` when the call changed something; undefined when it failed, changed nothing or is no such call. */
export function savedSkill(call: { readonly name: string; readonly arguments: string }, result: string): string | undefined {
  if (call.name !== "skill_manage") return undefined;
  const found = /^\{"success":true,"action":"([a-z_]+)","name":"([a-z0-9][a-z0-9._-]{0,63})","changed":true,/u.exec(result);
  const word = done[found?.[1] ?? ""];
  return word === undefined ? undefined : `Skill '${found?.[2]}' ${word}`;
}
