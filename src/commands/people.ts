/**
 * Commands about who somebody is to the bot: /link, /unlink, /profile, /forget me. Whatever shares or deletes asks first; all but /profile
 * work in direct messages only.
 */
import type { Command, CommandContext, CommandReply } from "../gateway/commands.js";
import type { Linking } from "../gateway/linking.js";
import type { Profiles } from "../gateway/profiles.js";
import type { Clock } from "../ports/runtime.js";
import { text } from "../words/catalogue.js";

export interface PeopleCommandDeps {
  readonly linking: Linking;
  readonly profiles: Profiles;
  readonly clock: Clock;
  /** Ends the caller's running turn and what waits of theirs. */
  readonly stop: (context: CommandContext) => Promise<unknown>;
  /** Deletes everything; false while something of the person still runs. */
  readonly forget: (personId: string) => Promise<boolean>;
}

const confirmMs = 600_000;
const maxAsked = 10_000;

export function personCommands(deps: PeopleCommandDeps): Command[] {
  const asked = new Map<string, number>();
  const personal = { who: "everybody", where: "dm" } as const;
  return [
    { name: "link", help: "help.link", ...personal, run: (context) => link(deps, context) },
    {
      name: "unlink",
      help: "help.unlink",
      ...personal,
      run: async (context) => ({ markdown: await deps.linking.unlink(context.speaker, context.language) }),
    },
    { name: "profile", help: "help.profile", who: "everybody", where: "anywhere", run: (context) => profile(deps, context) },
    { name: "forget", help: "help.forget", ...personal, run: (context) => forget(deps, asked, context) },
  ];
}

async function link({ linking }: PeopleCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { args, speaker, message, language } = context;
  const [word = "", id = ""] = args.split(/\s+/u);
  if (word === "") return { markdown: await linking.offer(speaker, message.route, language) };
  const verb = word.toLowerCase();
  if (verb === "confirm" || verb === "cancel") {
    const said = await linking.answer(speaker, verb === "confirm", language);
    return { markdown: said ?? text(language, "link.nothing") };
  }
  if (verb === "approve") {
    if (speaker.role !== "operator") return { markdown: text(language, "access.operators-only") };
    return { markdown: await linking.approve(id, language) };
  }
  return linking.use(word, speaker, message.route, language);
}

async function profile({ profiles }: PeopleCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { args, language, speaker, place, inGroup } = context;
  const forms = { on: `\`${context.form("profile")} on\``, off: `\`${context.form("profile")} off\`` };
  if (!inGroup) return { markdown: text(language, "profile.in-group") };
  if (profiles.rule !== "ask") return { markdown: text(language, profiles.rule === "on" ? "profile.fixed-on" : "profile.fixed-off") };
  if (speaker.role === "guest") return { markdown: text(language, "profile.guest") };
  const wanted = args.toLowerCase();
  if (wanted === "on" || wanted === "off") {
    await profiles.choose(speaker.personId, place.spaceId, wanted === "on");
    return { markdown: wanted === "on" ? text(language, "profile.on", { off: forms.off }) : text(language, "profile.off") };
  }
  const isOn = await profiles.isOn(speaker, place.spaceId);
  return {
    markdown: isOn ? text(language, "profile.state-on", { off: forms.off }) : text(language, "profile.state-off", { on: forms.on }),
  };
}

async function forget(deps: PeopleCommandDeps, asked: Map<string, number>, context: CommandContext): Promise<CommandReply> {
  const { args, language, speaker } = context;
  const command = `\`${context.form("forget")} me\``;
  const words = args.toLowerCase().split(/\s+/u);
  if (words[0] !== "me") return { markdown: text(language, "forget.usage", { forget: command }) };
  const now = deps.clock.now();
  if (words[1] !== "confirm") {
    if (asked.size >= maxAsked) asked.clear();
    asked.set(speaker.personId, now);
    return { markdown: text(language, "forget.ask", { confirm: `\`${context.form("forget")} me confirm\`` }) };
  }
  if (now - (asked.get(speaker.personId) ?? 0) > confirmMs) return { markdown: text(language, "forget.stale", { forget: command }) };
  await deps.stop(context);
  if (!(await deps.forget(speaker.personId))) return { markdown: text(language, "forget.busy") };
  asked.delete(speaker.personId);
  return { markdown: text(language, "forget.done") };
}
