/** A session's title, by the auxiliary model and off the path. Without one a session is known by its first words. */
import { payloadVersion, type NewIntent } from "../domain/job.js";
import type { ChatModel } from "../ports/chat-model.js";
import type { JobHandler } from "../ports/job-queue.js";
import type { Sessions } from "../ports/stores.js";
import { GatewayError } from "../domain/errors.js";
import { fence, quoteName } from "../safety/fence.js";

export interface TitleDeps {
  readonly sessions: Sessions;
  readonly aux: ChatModel;
  /** Name of the auxiliary model. */
  readonly model: string;
}

const system = "You name conversations. Answer with a title of two to six words in the conversation's language, nothing else.";
const shownLength = 2_000;

/** Written in the commit of a session's first turn. */
export function titleIntent(session: { readonly id: string; readonly spaceId: string }, lastMessageId: number, now: number): NewIntent {
  const payload = { v: payloadVersion, sessionId: session.id, spaceId: session.spaceId, upTo: lastMessageId } as const;
  return { id: `title-${session.id}`, kind: "title", sessionId: session.id, spaceId: session.spaceId, payload, runAt: now };
}

export function createTitleHandler(deps: TitleDeps): JobHandler<"title"> {
  return async (job, { signal }) => {
    const session = await deps.sessions.byId(job.sessionId);
    if (session === undefined || session.title !== undefined || session.isPrivate) return { watermarks: [] };
    const entries = await deps.sessions.entries(session.id);
    const said = entries.filter((stored) => stored.entry.role !== "tool").slice(0, 4);
    const talk = said.map((stored) => `${stored.entry.role}: ${stored.text.slice(0, shownLength)}`).join("\n");
    const request = {
      model: deps.model,
      system,
      tools: [],
      entries: [{ role: "user" as const, content: fence("earlier-messages", talk) }],
      maxOutputTokens: 40,
    };
    for await (const event of deps.aux.complete(request, signal)) {
      if (event.type !== "result") continue;
      if (!event.result.ok) throw new GatewayError("internal", `no title: ${event.result.failure}`, { retryable: true });
      const title = quoteName(event.result.text.replaceAll(/^["'“”#*\s]+|["'“”*\s.]+$/gu, ""));
      if (title !== "") await deps.sessions.setTitle(session.id, title);
    }
    return { watermarks: [{ kind: "title", sessionId: session.id, upTo: job.payload.upTo }] };
  };
}
