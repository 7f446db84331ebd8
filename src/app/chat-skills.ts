/**
 * Chats that may use certain skills only (`chats.<place>.skills`): the index leaves the others out, and the tools answer as if they were not
 * there. Without such a rule nothing is asked and nothing changes.
 */
import type { GatewayConfig } from "../../config/schema.js";
import type { Tool } from "../agent/tool.js";
import { isGroup } from "../domain/identity.js";
import { ChatSettings } from "../gateway/chat-settings.js";
import type { Session } from "../ports/stores.js";
import type { Stores } from "../storage/stores.js";

/** Names of the only skills a session may use; undefined = all. */
export type OnlySkills = (
  session: Pick<Session, "platform" | "chatId" | "threadId" | "chatKind">,
) => Promise<readonly string[] | undefined>;

/** Undefined where no chat has such a rule. */
export function onlySkills(config: GatewayConfig, stores: Pick<Stores, "access" | "overlay">): OnlySkills | undefined {
  if (!Object.values(config.chats).some((chat) => chat.skills !== undefined)) return undefined;
  const { overlay, access } = stores;
  const chats = new ChatSettings({ overlay, configured: config.chats, model: "", busyMode: "queue", chosen: [] });
  return async ({ platform, chatId, threadId, chatKind }) => {
    const chat = isGroup(chatKind) ? await access.chat(platform, chatId) : undefined;
    return chats.skillsOf({ platform, chatId, threadId, parentId: chat?.parentId, containerId: chat?.containerId });
  };
}

/** The tools with the rule obeyed when a call runs. */
export function restricted(tools: readonly Tool[], only: OnlySkills, sessions: Pick<Stores["sessions"], "byId">): Tool[] {
  return tools.map((tool) => ({
    ...tool,
    run: async (input, context) => {
      const session = await sessions.byId(context.session.id);
      const names = session === undefined ? undefined : await only(session);
      if (names === undefined) return tool.run(input, context);
      const name = (input as { readonly name?: unknown }).name;
      if (typeof name === "string" && !names.includes(name.trim())) {
        return JSON.stringify({ success: false, name: name.slice(0, 80), error: "This skill may not be used in this chat." });
      }
      const result = await tool.run(input, context);
      return typeof name === "string" ? result : listed(result, names);
    },
  }));
}

/** A list without the others. */
function listed(result: string, names: readonly string[]): string {
  const list = JSON.parse(result) as { readonly skills?: readonly { readonly name: string }[] };
  const skills = (list.skills ?? []).filter((skill) => names.includes(skill.name));
  return JSON.stringify({ ...list, count: skills.length, skills });
}
