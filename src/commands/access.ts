/** /approve: an operator lets somebody in by their code. The limits on wrong codes live in gateway/pairing.ts. */
import { accountKey } from "../domain/identity.js";
import type { Command, CommandContext, CommandReply } from "../gateway/commands.js";
import type { Pairing } from "../gateway/pairing.js";
import type { Replies } from "../gateway/replies.js";
import { withoutReply } from "../gateway/routes.js";
import { text } from "../words/catalogue.js";

export interface AccessCommandDeps {
  readonly pairing: Pairing;
  readonly replies: Replies;
}

export function accessCommands(deps: AccessCommandDeps): Command[] {
  return [{ name: "approve", help: "help.approve", who: "operators", where: "anywhere", run: (context) => approve(deps, context) }];
}

async function approve(deps: AccessCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language, speaker } = context;
  if (context.args === "") return { markdown: text(language, "approve.usage", { approve: `\`${context.form("approve")}\`` }) };
  const caller = accountKey(speaker.platform, speaker.accountId);
  const result = await deps.pairing.approve(context.args, caller, "user");
  if (!result.ok) {
    return {
      markdown: result.why === "locked" ? text(language, "approve.locked", { minutes: result.minutes }) : text(language, "approve.wrong"),
    };
  }
  const { code } = result;
  const subject = { name: code.label, account: accountKey(code.platform, code.subjectId) };
  const told =
    code.subject === "chat"
      ? text(language, "access.group-approved")
      : text(language, "pairing.approved", { help: `\`${context.form("help")}\`` });
  await deps.replies.say(withoutReply(code.route), told);
  if (code.subject === "chat") return { markdown: text(language, "approve.group-done", subject) };
  return { markdown: text(language, "approve.done", { ...subject, role: result.role }) };
}
