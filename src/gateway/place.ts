/** Where a message belongs: its conversation's key, its space and its search origin. The one place that derives them from an event. */
import { isGroup, originOf, sessionKey, type GroupScope } from "../domain/identity.js";
import type { InboundMessage } from "../domain/message.js";
import type { Place } from "./acts.js";

/** `chat`: the stored chat with the id of its group space. A direct message belongs to its person's own space. */
export function placeOf(event: InboundMessage, personId: string, chat: { readonly spaceId: string }, groupScope: GroupScope): Place {
  const group = isGroup(event.chat.kind);
  const where = {
    platform: event.platform,
    chat: event.chat,
    accountId: event.account.id,
    ...(event.threadId === undefined ? {} : { threadId: event.threadId }),
  };
  return {
    key: sessionKey(where, groupScope),
    spaceId: group ? chat.spaceId : personId,
    spaceKind: group ? "group" : "person",
    origin: originOf(where),
  };
}
