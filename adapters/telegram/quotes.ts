/**
 * The message replied to, as quoted context. In a topic every message "replies" to the notice that opened the topic:
 * that is no reply, or each would count as one to whoever made the topic.
 */
import type { QuotedMessage } from "../../src/domain/message.js";
import { accountOf, originName, type Self } from "./accounts.js";
import { entityMarkdown } from "./entities.js";
import { describeContent, readAttachments } from "./media.js";
import { spoken } from "./speech.js";
import type { TelegramMessage } from "./update.js";

/** Reads the reply, also one to a message of another chat; a quoted part stands for the whole text. */
export function quotedMessage(message: TelegramMessage, self: Self): QuotedMessage | undefined {
  const chosen =
    message.quote === undefined ? undefined : entityMarkdown({ text: message.quote.text, entities: message.quote.entities ?? [] });
  const reply = message.reply_to_message;
  if (reply !== undefined) {
    const opensTopic = message.is_topic_message === true && reply.message_id === message.message_thread_id;
    if (opensTopic || reply.forum_topic_created !== undefined) return undefined;
    const author = accountOf(reply);
    return {
      author: author?.displayName ?? "unknown",
      text: chosen ?? [entityMarkdown(spoken(reply)), describeContent(reply)].filter((part) => part !== "").join("\n"),
      attachments: readAttachments(reply),
      messageId: String(reply.message_id),
      ...(author?.id === self.id ? { fromSelf: true } : {}),
    };
  }
  if (message.external_reply === undefined) return undefined;
  return { author: originName(message.external_reply.origin), text: chosen ?? "", attachments: readAttachments(message.external_reply) };
}
