/** The language of the program's own words to a person: that of what they wrote last. A command alone says nothing of it. */
import type { InboundMessage } from "../domain/message.js";
import type { Inbox } from "../ports/mailbox.js";
import { languageOf, type Language } from "../words/catalogue.js";

/** Messages of the chat that are looked at. */
const lookBack = 20;

export async function languageFor(inbox: Inbox, setting: Language | "auto", event: InboundMessage): Promise<Language> {
  if (setting !== "auto") return setting;
  if (event.command === undefined && /\p{L}/u.test(event.text)) return languageOf(setting, [event.text]);
  const rows = await inbox.list({ platform: event.platform, chatId: event.chat.id, limit: lookBack });
  const earlier = rows.flatMap(({ event: one }) => {
    const theirs = one.kind === "message" && one.account.id === event.account.id && one.command === undefined;
    return theirs ? [one.text] : [];
  });
  return languageOf(setting, [...earlier, event.command?.args ?? ""]);
}
