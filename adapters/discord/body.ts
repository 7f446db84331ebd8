/**
 * Pure: what goes out -> the body of a Discord message. Nothing the model writes can ping anybody: every body carries an
 * empty list of allowed mentions.
 */
import type { Button, OutboundMessage } from "../../src/domain/message.js";
import type { MessageBody } from "./api.js";
import { asFields, textOf, type Fields } from "./fields.js";

/** SUPPRESS_NOTIFICATIONS (https://discord.com/developers/docs/resources/message#message-object-message-flags). */
const silentFlag = 1 << 12;
const buttonsInRow = 5;
const rows = 5;
const labelLength = 80;

/** A new message; `reply` and `nonce` are added by the sender, which knows where it goes. */
export function messageBody(message: OutboundMessage): MessageBody {
  const base = { allowed_mentions: { parse: [] } };
  if (message.kind === "file") {
    return {
      body: {
        ...base,
        ...(message.caption === undefined || message.caption === "" ? {} : { content: message.caption }),
        attachments: [{ id: 0, filename: message.name }],
      },
      files: [{ name: message.name, data: message.content, contentType: message.mimeType }],
    };
  }
  const content = message.kind === "plain" ? message.text : (textOf(asFields(message.part.payload) ?? {}, "content") ?? message.part.plain);
  return {
    body: {
      ...base,
      content,
      ...(message.buttons === undefined || message.buttons.length === 0 ? {} : { components: buttonRows(message.buttons) }),
      ...(message.silent === true ? { flags: silentFlag } : {}),
    },
    files: [],
  };
}

/** The same content for an edit: buttons that are not named go away, as on every platform. */
export function editBody(message: OutboundMessage): MessageBody {
  const { body, files } = messageBody(message);
  const { flags: _flags, ...rest } = body;
  return { body: { components: [], ...rest }, files };
}

export function contentOf(message: MessageBody): string | undefined {
  return textOf(message.body, "content");
}

function buttonRows(buttons: readonly Button[]): Fields[] {
  const all: Fields[] = [];
  for (let at = 0; at < buttons.length && all.length < rows; at += buttonsInRow) {
    const row = buttons.slice(at, at + buttonsInRow).map((button) => ({
      type: 2,
      style: 2,
      label: [...button.label].slice(0, labelLength).join("") || "…",
      custom_id: button.data,
    }));
    all.push({ type: 1, components: row });
  }
  return all;
}
