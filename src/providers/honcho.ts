/**
 * Honcho as a memory provider. Peers are per person and space (place.ts), the agent is one peer that is not observed, and each
 * session here is a session there. The context layer is cheap; the considered answer costs model calls and is asked for in jobs only.
 */
import type {
  MemoryProvider,
  MirroredEntry,
  MirrorToRemove,
  PersonAtProvider,
  PrefetchState,
  ProviderPlace,
  ProviderToolCall,
  Recalled,
  SessionAtProvider,
  SyncContext,
  SyncedTurn,
} from "../ports/memory-provider.js";
import { text, texts } from "./failure.js";
import { HonchoClient, type HonchoSettings, type Peer, type SessionPeers } from "./honcho-client.js";
import { deleteSession, exportPerson, forgetPerson, unlessMissing } from "./honcho-people.js";
import { coldQuestion, gapQuestion, settleQuestion, warmQuestion } from "./honcho-questions.js";
import { honchoTools } from "./honcho-tools.js";
import { personTag, readable, sessionTag, spaceTag } from "./place.js";

export interface HonchoOptions extends HonchoSettings {
  /** User turns between two refreshes of each layer. */
  readonly contextEvery: number;
  readonly dialecticEvery: number;
  /** Passes of one considered answer, 1 to 3. */
  readonly dialecticDepth: number;
}

export const agentPeer = "mneme-agent";
const queryLength = 2000;
const conclusionsShown = 25;
const name = "honcho";

export class HonchoProvider implements MemoryProvider {
  readonly name = name;
  readonly #options: HonchoOptions;
  readonly #client: HonchoClient;

  constructor(options: HonchoOptions) {
    this.#options = options;
    this.#client = new HonchoClient(options);
  }

  async initialize(_signal: AbortSignal): Promise<void> {
    await this.#client.peer(agentPeer, async () => undefined);
  }

  systemPromptBlock(): string {
    return "A memory service (Honcho) models the person over time. What it recalls stands in <memory-context> at the end of their message; the honcho_ tools ask it for more.";
  }

  toolSchemas(): typeof honchoTools {
    return honchoTools;
  }

  async prefetch(query: string, place: ProviderPlace): Promise<Recalled | undefined> {
    const context = await this.#context(query, place);
    return context === "" ? undefined : { layer: "context", text: context };
  }

  async queuePrefetch(query: string, place: ProviderPlace, { turn, madeAt }: PrefetchState, signal: AbortSignal): Promise<Recalled[]> {
    const { contextEvery, dialecticEvery } = this.#options;
    const due = (last: number | undefined, every: number): boolean => last === undefined || turn - last >= every;
    const layers: Recalled[] = [];
    if (due(madeAt.context, contextEvery)) layers.push({ layer: "context", text: await this.#context(query, place) });
    if (due(madeAt.answer, dialecticEvery)) layers.push({ layer: "answer", text: await this.#considered(query, place, turn, signal) });
    return layers.filter((layer) => layer.text !== "");
  }

  async syncTurn(turn: SyncedTurn, { place, uncertain }: SyncContext): Promise<string[]> {
    const person = personTag(place);
    return this.#client.session(sessionTag(place), this.#peersOf(place), async (session) => {
      const found = uncertain ? (await session.messages({ filters: { metadata: { mneme_turn: turn.turnId } }, size: 10 })).items : [];
      const known = new Set(found.map(({ peerId }) => peerId));
      const both = [
        { peerId: person, content: turn.user },
        { peerId: agentPeer, content: turn.assistant },
      ];
      const missing = both.filter(({ peerId, content }) => content.trim() !== "" && !known.has(peerId));
      const createdAt = new Date(turn.at).toISOString();
      const messages = missing.map((message) => ({ ...message, createdAt, metadata: { mneme_turn: turn.turnId } }));
      const sent = messages.length === 0 ? [] : await session.addMessages(messages);
      return [...found, ...sent].map(({ id }) => text(name, "messages", id));
    });
  }

  async onSessionEnd({ place }: SyncContext): Promise<void> {
    await this.#client.session(sessionTag(place), this.#peersOf(place), (session) => session.setMetadata({ mneme_ended: true }));
  }

  async forgetSession(place: ProviderPlace, { facts }: SessionAtProvider): Promise<void> {
    await this.#client.use(async (client) => {
      await deleteSession(client, sessionTag(place));
      const agent = await client.peer(agentPeer);
      for (const id of facts) await agent.conclusions.delete(id).catch(unlessMissing);
    });
  }

  handleToolCall(call: ProviderToolCall, signal: AbortSignal): Promise<string> {
    const { place } = call;
    const input = call.input as { readonly query?: string; readonly limit?: number; readonly question?: string; readonly content?: string };
    switch (call.name) {
      case "honcho_profile":
        return this.#each(place, async (peer) => texts(name, "a card", await peer.getCard()).join("\n"));
      case "honcho_search":
        return this.#search(place, input.query ?? "", input.limit ?? 8);
      case "honcho_context":
        return this.#context(input.query ?? "", place);
      case "honcho_reasoning":
        return this.#ask(place, input.question ?? "", signal);
      default:
        return this.#client.peer(personTag(place), async (peer) => {
          const [made] = await peer.conclusions.create({ content: input.content ?? "" });
          return `Kept.\nid: ${text(name, "a conclusion", made?.id)}`;
        });
    }
  }

  onMemoryWrite(entry: MirroredEntry, place: ProviderPlace, uncertain: boolean): Promise<string> {
    return this.#client.peer(mirrorPeer(entry.target, place), async (peer) => {
      if (uncertain)
        for await (const held of await peer.conclusions.list({ size: 100 })) if (held.content === entry.content) return held.id;
      const [made] = await peer.conclusions.create({ content: entry.content });
      return text(name, "a conclusion", made?.id);
    });
  }

  async onMemoryRemove({ target, remoteId, isIt }: MirrorToRemove, place: ProviderPlace): Promise<void> {
    await this.#client.peer(mirrorPeer(target, place), async (peer) => {
      if (remoteId !== undefined) return peer.conclusions.delete(remoteId).catch(unlessMissing);
      for await (const held of await peer.conclusions.list({ size: 100 }))
        if (isIt(held.content)) await peer.conclusions.delete(held.id).catch(unlessMissing);
      return undefined;
    });
  }

  exportPerson(person: PersonAtProvider): Promise<unknown> {
    return exportPerson(this.#client, person);
  }

  forgetPerson(person: PersonAtProvider): Promise<void> {
    return forgetPerson(this.#client, person);
  }

  #peersOf(place: ProviderPlace): SessionPeers {
    // The plain id comes last: the SDK reads a list of two that ends in a pair as one pair.
    return [[agentPeer, { observeMe: false, observeOthers: true }], personTag(place)];
  }

  async #context(query: string, place: ProviderPlace): Promise<string> {
    const searchQuery = query.trim().slice(0, queryLength);
    return this.#each(place, async (peer) => {
      const options = { maxConclusions: conclusionsShown, ...(searchQuery === "" ? {} : { searchQuery, searchTopK: 10 }) };
      const { representation, peerCard } = await peer.context(options);
      const card = texts(name, "a card", peerCard).map((line) => `- ${line}`);
      return [...card, text(name, "a representation", representation).trim()].filter((part) => part !== "").join("\n");
    });
  }

  async #search(place: ProviderPlace, query: string, limit: number): Promise<string> {
    const found = await this.#each(place, async (peer) => {
      const [concluded, said] = await Promise.all([peer.conclusions.query(query, limit), peer.search(query, { limit })]);
      const lines = [
        ...concluded.map(({ content }) => `- concluded: ${content}`),
        ...said.map((one) => `- said ${one.createdAt}: ${one.content}`),
      ];
      return lines.join("\n");
    });
    const notes = await this.#client.peer(spaceTag(place.spaceId), async (peer) =>
      (await peer.conclusions.query(query, limit)).map(({ content }) => `- noted: ${content}`).join("\n"),
    );
    return [found, notes].filter((part) => part !== "").join("\n");
  }

  /** Every peer that may be read, at once; equal answers once. */
  async #each(place: ProviderPlace, work: (peer: Peer) => Promise<string>): Promise<string> {
    const answers = await Promise.all(readable(place).map((who) => this.#client.peer(personTag(who), work)));
    return [...new Set(answers.filter((answer) => answer !== ""))].join("\n");
  }

  async #considered(query: string, place: ProviderPlace, turn: number, signal: AbortSignal): Promise<string> {
    const first = await this.#ask(place, turn <= 1 ? coldQuestion(query) : warmQuestion(query), signal, turn > 1);
    if (first === "" || this.#options.dialecticDepth < 2) return first;
    const second = await this.#ask(place, gapQuestion(first), signal);
    if (second === "" || this.#options.dialecticDepth < 3) return second === "" ? first : `${first}\n\n${second}`;
    const settled = await this.#ask(place, settleQuestion(first, second), signal);
    return settled === "" ? `${first}\n\n${second}` : settled;
  }

  async #ask(place: ProviderPlace, question: string, signal: AbortSignal, inSession = false): Promise<string> {
    if (signal.aborted) throw signal.reason;
    const session = inSession ? { session: sessionTag(place) } : {};
    // The sync may not have made it yet.
    if (inSession) await this.#client.session(sessionTag(place), this.#peersOf(place), async () => undefined);
    return this.#client.peer(personTag(place), async (peer) => text(name, "an answer", await peer.chat(question, session)).trim());
  }
}

/** USER.md is about the person in their own space; MEMORY.md has a peer of its own per space. */
function mirrorPeer(target: MirroredEntry["target"], place: ProviderPlace): string {
  return target === "user" ? personTag(place) : spaceTag(place.spaceId);
}
