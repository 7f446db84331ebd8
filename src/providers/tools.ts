/**
 * A provider's tools as the agent's tools. What a tool would store is checked like a memory entry: scanned, and refused when it
 * stands in fenced text rather than in the person's own words (ME-19). Results come back fenced.
 */
import { defineTool, type Tool, type ToolContext } from "../agent/tool.js";
import type { ProviderPlace, ProviderTool } from "../ports/memory-provider.js";
import type { ProviderStore } from "../ports/provider-store.js";
import type { Clock, Logger } from "../ports/runtime.js";
import { scan, scanMessage } from "../safety/scan.js";
import type { ProviderGuard } from "./guard.js";
import { readable } from "./place.js";
import { toolBlock } from "./recalled.js";

export interface ProviderToolDeps {
  readonly memory: ProviderGuard;
  readonly store: ProviderStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function providerTools(deps: ProviderToolDeps): Tool[] {
  return deps.memory.toolSchemas().map((schema) =>
    defineTool({
      name: schema.name,
      description: schema.description,
      input: schema.input,
      effect: schema.effect,
      run: (input, context) => runTool(deps, schema, input, context),
    }),
  );
}

async function runTool(deps: ProviderToolDeps, schema: ProviderTool, input: unknown, context: ToolContext): Promise<string> {
  const { memory, store, clock, logger } = deps;
  const objection = schema.effect === "once" ? writeObjection(input, context) : undefined;
  if (context.session.isPrivate) return refused("This session is private: the external memory is neither read nor written.");
  if (objection !== undefined) return refused(objection);
  const place = await placeOfCall(store, context);
  if (await store.deleting(readable(place).map(({ spaceId }) => spaceId))) {
    return refused("Something is being deleted from the external memory; try again later.");
  }
  const callId = `${context.turn.id}-${context.callId}`.replaceAll(/[^A-Za-z0-9_-]/gu, "").slice(0, 80);
  if (schema.effect === "once") await store.beginRef(memory.name, "fact", callId, context.session.id, clock.now());
  const result = await memory.handleToolCall({ name: schema.name, input, place, callId }, context.signal);
  if (schema.effect === "once") {
    const remoteIds = remoteIdsIn(result);
    if (remoteIds.length === 0) await store.dropRef(memory.name, "fact", callId);
    else await store.endRef(memory.name, "fact", callId, { state: "stored", remoteIds });
  }
  return toolBlock(result, (reason) => logger.warn({ provider: memory.name, tool: schema.name, reason }, "recalled text was left out"));
}

async function placeOfCall(store: ProviderStore, { session, speaker }: ToolContext): Promise<ProviderPlace> {
  const [aliases, generation] = await Promise.all([store.aliases(speaker.personId), store.generation(session.id)]);
  return {
    sessionId: session.id,
    spaceId: session.spaceId,
    personId: speaker.personId,
    isOwnSpace: session.spaceKind === "person",
    aliases,
    generation,
  };
}

/** A write's whole answer is a word and `id: …`; anything longer holds foreign text and is not read. */
function remoteIdsIn(result: string): string[] {
  const found = /^(?:Kept|Stored)\.\nid: (\S+)$/u.exec(result)?.[1];
  return found === undefined ? [] : [found];
}

function writeObjection(input: unknown, context: ToolContext): string | undefined {
  if (context.speaker.role === "guest") return "Guests cannot store or delete anything.";
  for (const text of textsOf(input)) {
    const scanned = scan(text);
    if (!scanned.ok) return scanMessage(scanned.reason);
    if (isForeign(text, context)) {
      return "Refused (untrusted-source): this stands in text that a tool, document or recall brought in, not in the person's own words.";
    }
  }
  return undefined;
}

function textsOf(input: unknown): string[] {
  if (typeof input !== "object" || input === null) return [];
  const { content } = input as { readonly content?: unknown };
  return typeof content === "string" ? [content] : [];
}

/** Shares more runs of three words with fenced text than with what the person said. */
function isForeign(text: string, { said, untrusted }: Pick<ToolContext, "said" | "untrusted">): boolean {
  const own = runsOf(said.map((one) => one.text).join("\n"));
  const foreign = runsOf(untrusted.join("\n"));
  let balance = 0;
  for (const run of runsOf(text)) balance += (foreign.has(run) ? 1 : 0) - (own.has(run) ? 1 : 0);
  return balance > 0;
}

function runsOf(text: string): Set<string> {
  const words =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/\p{Script=Han}|[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.slice(2).map((word, index) => `${words[index] ?? ""} ${words[index + 1] ?? ""} ${word}`));
}

function refused(error: string): string {
  return JSON.stringify({ error });
}
