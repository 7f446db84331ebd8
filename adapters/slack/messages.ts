/**
 * Sending, changing and removing what is ours. What cannot be edited later (a shared file, an answer at a response
 * address) gets a made-up message id with a prefix, since Slack gives none.
 */
import { DeliveryError, errorText } from "../../src/domain/errors.js";
import type { OutboundMessage, Route, SentRef } from "../../src/domain/message.js";
import type { SendOptions } from "../../src/ports/platform-adapter.js";
import type { SlackApi } from "./api.js";
import { platformCode } from "./api-errors.js";
import { asFields, textOf } from "./fields.js";
import type { FileDeps } from "./file-in.js";
import { postArgs, responseArgs, responseUrlOf, updateArgs } from "./outbound.js";
import { render } from "./render.js";
import { respond } from "./respond.js";

export interface Outgoing {
  readonly api: SlackApi;
  readonly apiUrl: string;
  readonly now: () => number;
  readonly files: FileDeps;
}

const filePrefix = "file:";
const responsePrefix = "response:";

/** A message's time stamp, as against a trigger id or one of our made-up ids. */
export function isTs(messageId: string): boolean {
  return /^\d+\.\d+$/.test(messageId);
}

export async function sendMessage(out: Outgoing, route: Route, message: OutboundMessage, options: SendOptions): Promise<SentRef> {
  if (message.kind === "file") return sendFile(out.api, route, message, options.signal);
  const address = responseUrlOf(route, out.apiUrl, out.now());
  try {
    const answer = await out.api.call("chat.postMessage", postArgs(route, message, options.deliveryId), options.signal);
    return sentIn(route, textOf(answer, "ts") ?? "");
  } catch (error) {
    // A command was typed where the bot is no member: Slack then takes the answer at the command's own address.
    if (!(error instanceof DeliveryError) || error.code !== "delivery.chat-gone" || address === undefined) throw error;
    await respond(address, responseArgs(message), options.signal);
    return sentIn(route, `${responsePrefix}${options.deliveryId}`);
  }
}

export async function editMessage(api: SlackApi, sent: SentRef, message: OutboundMessage, signal: AbortSignal): Promise<void> {
  if (message.kind === "file" || !isTs(sent.messageId)) throw new DeliveryError("delivery.refused", "only text messages can be edited");
  await api.call("chat.update", updateArgs(sent, message), signal);
}

export async function removeMessage(api: SlackApi, sent: SentRef, signal: AbortSignal): Promise<void> {
  if (sent.messageId.startsWith(responsePrefix)) return; // shown to one person, gone when the client is opened again
  const file = sent.messageId.startsWith(filePrefix);
  const gone = file ? ["file_not_found", "file_deleted"] : ["message_not_found"];
  try {
    if (file) await api.call("files.delete", { file: sent.messageId.slice(filePrefix.length) }, signal);
    else await api.call("chat.delete", { channel: sent.chatId, ts: sent.messageId }, signal);
  } catch (error) {
    const code = error instanceof DeliveryError ? platformCode(error.cause) : undefined;
    if (code === undefined || !gone.includes(code)) throw error;
  }
}

function sentIn(route: Route, messageId: string): SentRef {
  return { chatId: route.chatId, ...(route.threadId === undefined ? {} : { threadId: route.threadId }), messageId };
}

/**
 * Sends a file: ask for an address, upload, share. Only the last step can be seen by anybody, so a failure before it is
 * always `delivery.not-sent`.
 */
async function sendFile(
  api: SlackApi,
  route: Route,
  file: Extract<OutboundMessage, { kind: "file" }>,
  signal: AbortSignal,
): Promise<SentRef> {
  const caption = captionOf(file);
  const bytes = Buffer.from(file.content, "utf8");
  const fileId = await upload(api, file.name, bytes, signal);
  await api.call(
    "files.completeUploadExternal",
    {
      files: [{ id: fileId, title: file.name }],
      channel_id: route.chatId,
      ...(route.threadId === undefined ? {} : { thread_ts: route.threadId }),
      ...(caption === undefined ? {} : { initial_comment: caption }),
    },
    signal,
  );
  return sentIn(route, `${filePrefix}${fileId}`);
}

async function upload(api: SlackApi, name: string, bytes: Buffer, signal: AbortSignal): Promise<string> {
  try {
    const place = await api.call("files.getUploadURLExternal", { filename: name, length: bytes.length }, signal);
    const url = textOf(place, "upload_url");
    const fileId = textOf(place, "file_id");
    if (url === undefined || fileId === undefined) throw new DeliveryError("delivery.not-sent", "Slack gave no address for the upload");
    // The address itself is the permission: no token is sent to it.
    const response = await fetch(url, {
      method: "POST",
      body: new Uint8Array(bytes),
      headers: { "content-type": "application/octet-stream" },
      redirect: "error",
      signal,
    });
    await response.body?.cancel();
    if (response.status !== 200) throw new DeliveryError("delivery.not-sent", `the upload was answered ${response.status}`);
    return fileId;
  } catch (error) {
    if (!(error instanceof DeliveryError))
      throw new DeliveryError("delivery.not-sent", `the upload failed: ${errorText(error)}`, { cause: error });
    throw error.code === "delivery.unknown" ? new DeliveryError("delivery.not-sent", error.message, { cause: error }) : error;
  }
}

/** The comment above a file: mrkdwn, so the rendered text form. */
function captionOf(file: Extract<OutboundMessage, { kind: "file" }>): string | undefined {
  const part = file.caption === undefined ? undefined : render(file.caption)[0];
  return part === undefined ? undefined : textOf(asFields(part.payload) ?? {}, "text");
}
