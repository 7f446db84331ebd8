/**
 * Honcho's API v3 as far as the bot uses it, in memory: workspaces, peers, sessions, messages, conclusions, cards, chat. It
 * refuses bad ids, blank messages, batches over 100, writes into a deleted session, and endpoints it does not know.
 */
import { Answer, startRecordingServer, type Recorded, type RecordingServer } from "./recording-server.js";

interface Message {
  readonly id: string;
  readonly content: string;
  readonly peer_id: string;
  readonly session_id: string;
  readonly workspace_id: string;
  readonly metadata: Record<string, unknown>;
  readonly created_at: string;
  readonly token_count: number;
}

interface Conclusion {
  readonly id: string;
  readonly content: string;
  readonly observer_id: string;
  readonly observed_id: string;
  readonly session_id: string | null;
  readonly level: string;
  readonly created_at: string;
}

interface HonchoSession {
  readonly peers: Record<string, unknown>;
  metadata: Record<string, unknown>;
  deleted: boolean;
}

export interface HonchoServer extends RecordingServer {
  readonly messages: Message[];
  readonly conclusions: Conclusion[];
  readonly sessions: Map<string, HonchoSession>;
  readonly cards: Map<string, string[]>;
  /** What `context` says of a peer beside its conclusions. */
  readonly representations: Map<string, string>;
  /** Answers of `chat`, in order; then "I do not know." */
  readonly answers: string[];
  /** Adds a conclusion as the service's own thinking would. */
  conclude(peerId: string, content: string): void;
}

const goodId = /^[A-Za-z0-9_-]{1,512}$/;
const at = "2026-01-01T00:00:00Z";
const base = "/v3/workspaces";
const ws = `${base}/:w`;

export async function startHonchoServer(options: { readonly apiKey?: string; readonly port?: number } = {}): Promise<HonchoServer> {
  const messages: Message[] = [];
  const conclusions: Conclusion[] = [];
  const sessions = new Map<string, HonchoSession>();
  const cards = new Map<string, string[]>();
  const representations = new Map<string, string>();
  const answers: string[] = [];
  const peers = new Set<string>();
  let serial = 0;

  const next = (kind: string): string => `${kind}${(serial += 1)}`;
  const sessionBody = (id: string, metadata: Record<string, unknown>): unknown => ({
    id,
    workspace_id: "w",
    is_active: true,
    metadata,
    configuration: {},
    created_at: at,
  });
  const peerBody = (id: string): unknown => ({ id, workspace_id: "w", metadata: {}, configuration: {}, created_at: at });
  const page = (items: readonly unknown[], { query }: Recorded): unknown => {
    const size = Number(query.get("size") ?? 50);
    const number = Number(query.get("page") ?? 1);
    return {
      items: items.slice((number - 1) * size, number * size),
      page: number,
      size,
      total: items.length,
      pages: Math.max(1, Math.ceil(items.length / size)),
    };
  };
  const filters = (request: Recorded): Record<string, unknown> => (request.body["filters"] ?? {}) as Record<string, unknown>;
  const ofPair = (request: Recorded): Conclusion[] => {
    const { observer_id: observer, observed_id: observed } = filters(request);
    return conclusions.filter((one) => one.observer_id === observer && one.observed_id === observed);
  };
  const known = (session: string | undefined): HonchoSession | undefined => {
    const found = sessions.get(session ?? "");
    return found === undefined || found.deleted ? undefined : found;
  };

  const server = await startRecordingServer(
    {
      [`POST ${base}`]: ({ body }) =>
        goodId.test(String(body["id"])) ? { id: body["id"], metadata: {}, configuration: {}, created_at: at } : new Answer(422),
      [`POST ${ws}/peers`]: ({ body }) => {
        const id = String(body["id"]);
        if (!goodId.test(id)) return new Answer(422);
        peers.add(id);
        return peerBody(id);
      },
      [`POST ${ws}/sessions`]: ({ body }) => {
        const id = String(body["id"]);
        if (!goodId.test(id)) return new Answer(422);
        const session = sessions.get(id) ?? { peers: {}, metadata: {}, deleted: false };
        if (session.deleted) return new Answer(404, { detail: "the session is being deleted" });
        Object.assign(session.peers, body["peers"] ?? {});
        for (const peer of Object.keys(session.peers)) peers.add(peer);
        sessions.set(id, session);
        return sessionBody(id, session.metadata);
      },
      [`PUT ${ws}/sessions/:s`]: ({ body }, { s = "" }) => {
        const session = known(s);
        if (session === undefined) return new Answer(404);
        session.metadata = (body["metadata"] ?? {}) as Record<string, unknown>;
        return sessionBody(s, session.metadata);
      },
      [`DELETE ${ws}/sessions/:s`]: (_request, { s = "" }) => {
        const session = known(s);
        if (session === undefined) return new Answer(404);
        session.deleted = true;
        for (const [index, message] of [...messages.entries()].toReversed()) if (message.session_id === s) messages.splice(index, 1);
        return new Answer(202);
      },
      [`POST ${ws}/sessions/:s/messages`]: ({ body }, { s = "" }) => {
        const batch = body["messages"] as { peer_id: string; content: string; metadata?: Record<string, unknown>; created_at?: string }[];
        if (known(s) === undefined) return new Answer(404);
        if (batch.length === 0 || batch.length > 100) return new Answer(422);
        if (batch.some((one) => one.content.trim() === "" || !peers.has(one.peer_id))) return new Answer(422);
        const made = batch.map((one) => ({
          id: next("m"),
          content: one.content,
          peer_id: one.peer_id,
          session_id: s,
          workspace_id: "w",
          metadata: one.metadata ?? {},
          created_at: one.created_at ?? at,
          token_count: 1,
        }));
        messages.push(...made);
        return made;
      },
      [`POST ${ws}/sessions/:s/messages/list`]: (request, { s }) => {
        const { metadata, peer_id: peer } = filters(request) as { metadata?: Record<string, unknown>; peer_id?: string };
        const fits = (message: Message): boolean =>
          message.session_id === s &&
          (peer === undefined || message.peer_id === peer) &&
          Object.entries(metadata ?? {}).every(([key, value]) => message.metadata[key] === value);
        return page(messages.filter(fits), request);
      },
      [`GET ${ws}/peers/:p/context`]: (_request, { p = "" }) => ({
        peer_id: p,
        target_id: p,
        representation: [representations.get(p) ?? "", ...conclusions.filter((one) => one.observed_id === p).map((one) => one.content)]
          .filter((line) => line !== "")
          .join("\n"),
        peer_card: cards.get(p) ?? null,
      }),
      [`GET ${ws}/peers/:p/card`]: (_request, { p = "" }) => ({ peer_card: cards.get(p) ?? null }),
      [`PUT ${ws}/peers/:p/card`]: ({ body }, { p = "" }) => {
        cards.set(p, body["peer_card"] as string[]);
        return { peer_card: body["peer_card"] };
      },
      [`POST ${ws}/peers/:p/chat`]: ({ body }) => {
        const session = body["session_id"];
        if (typeof session === "string" && known(session) === undefined) return new Answer(404);
        return { content: answers.shift() ?? "I do not know." };
      },
      [`POST ${ws}/peers/:p/search`]: ({ body }, { p }) =>
        messages.filter((one) => one.peer_id === p && shares(one.content, String(body["query"]))).slice(0, Number(body["limit"] ?? 10)),
      [`POST ${ws}/peers/:p/sessions`]: (request, { p = "" }) =>
        page(
          [...sessions].filter(([, one]) => !one.deleted && p in one.peers).map(([id, one]) => sessionBody(id, one.metadata)),
          request,
        ),
      [`POST ${ws}/conclusions`]: ({ body }) => {
        const made = (body["conclusions"] as Omit<Conclusion, "id" | "level" | "created_at">[]).map((one) => ({
          ...one,
          id: next("c"),
          level: "explicit",
          created_at: at,
        }));
        conclusions.push(...made);
        return made;
      },
      [`POST ${ws}/conclusions/list`]: (request) => page(ofPair(request), request),
      [`POST ${ws}/conclusions/query`]: (request) => ofPair(request).filter((one) => shares(one.content, String(request.body["query"]))),
      [`DELETE ${ws}/conclusions/:c`]: (_request, { c }) => {
        const index = conclusions.findIndex((one) => one.id === c);
        if (index < 0) return new Answer(404);
        conclusions.splice(index, 1);
        return new Answer(204);
      },
    },
    options.port,
  );
  return Object.assign(server, {
    messages,
    conclusions,
    sessions,
    cards,
    representations,
    answers,
    conclude(peerId: string, content: string) {
      conclusions.push({
        id: next("c"),
        content,
        observer_id: peerId,
        observed_id: peerId,
        session_id: null,
        level: "deductive",
        created_at: at,
      });
    },
  });
}

function shares(text: string, query: string): boolean {
  const words = new Set(text.toLowerCase().match(/\p{L}+/gu) ?? []);
  return (query.toLowerCase().match(/\p{L}+/gu) ?? []).some((word) => word.length > 3 && words.has(word));
}
