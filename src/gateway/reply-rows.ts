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
  const of = { kind: "reply", turnId: reply.turnId, sessionId: reply.sessionId } as const;
  const rows = textRows(reply, of);
  const [first, ...more] = rows;
  return first === undefined || reply.takesOver === undefined ? rows : [{ ...first, takesOver: reply.takesOver }, ...more];
}

/** Any text as outbox rows that have `of` in common: at most `maxParts` parts, and what is more as one file. */
export function textRows(
  { channel, route, markdown, maxParts, language }: Pick<Reply, "channel" | "route" | "markdown" | "maxParts" | "language">,
  of: Pick<NewOutbox, "kind" | "turnId" | "sessionId">,
): NewOutbox[] {
  const { adapter } = channel;
  const { files, maxPartLength } = adapter.capabilities;
  const render = (given: string): readonly RenderedPart[] => adapter.render(given);
  const { parts, rest: more } =
    maxParts === 0 || !files
      ? { parts: render(markdown), rest: undefined }
      : shorten(markdown, { render, maxParts, partLength: maxPartLength });
  const { replyTo: _replyTo, ...rest } = route;
  const rows: NewOutbox[] = parts.map((part, index) => ({ ...of, route: index === 0 ? route : rest, part }));
  if (more === undefined || more === "") return rows;
  const caption = text(language, "delivery.rest-in-file");
  const file = { name: "answer.md", mimeType: "text/markdown", content: more };
  return [...rows, { ...of, route: rest, part: { plain: caption, payload: null }, file }];
}
