/**
 * A reply as outbox rows: the first part takes the preview over, and only it is a reply to the message. What is more than the allowed
 * parts goes as one file, with one short line above it that is within every platform's limit for captions.
 */
import type { RenderedPart, Route } from "../domain/message.js";
import type { NewOutbox } from "../ports/mailbox.js";
import { text, type Language } from "../words/catalogue.js";
import type { Channel } from "./channels.js";
import { shorten } from "./long-answer.js";

export interface Reply {
  readonly channel: Channel;
  readonly route: Route;
  readonly turnId: string;
  readonly sessionId: string;
  readonly markdown: string;
  readonly takesOver: NewOutbox["takesOver"];
  /** Most text parts; 0 = no limit. */
  readonly maxParts: number;
  readonly language: Language;
}

export function replyRows(reply: Reply): NewOutbox[] {
  const { adapter } = reply.channel;
  const { files, maxPartLength } = adapter.capabilities;
  const render = (markdown: string): readonly RenderedPart[] => adapter.render(markdown);
  const { parts, rest: more } =
    reply.maxParts === 0 || !files
      ? { parts: render(reply.markdown), rest: undefined }
      : shorten(reply.markdown, { render, maxParts: reply.maxParts, partLength: maxPartLength });
  const { replyTo: _replyTo, ...rest } = reply.route;
  const of = { kind: "reply", turnId: reply.turnId, sessionId: reply.sessionId } as const;
  const rows: NewOutbox[] = parts.map((part, index) => ({
    ...of,
    route: index === 0 ? reply.route : rest,
    part,
    ...(index === 0 && reply.takesOver !== undefined ? { takesOver: reply.takesOver } : {}),
  }));
  if (more === undefined || more === "") return rows;
  const caption = text(reply.language, "delivery.rest-in-file");
  const file = { name: "answer.md", mimeType: "text/markdown", content: more };
  return [...rows, { ...of, route: rest, part: { plain: caption, payload: null }, file }];
}
