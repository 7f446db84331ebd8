/**
 * What a session's frozen prompt is made of. The layers come from the features and the platform; the order is
 * agent/prompt.ts's. Read once when a session begins or is rebuilt, never during it.
 */
import { prompt, type Agent, type Layer } from "../agent/agent.js";
import { identityLayer, toolUseLayer } from "../agent/prompt.js";
import { isGroup } from "../domain/identity.js";
import type { Channels } from "../gateway/channels.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Frozen, Session } from "../ports/stores.js";
import { readContextFiles } from "./context-files.js";

/** Raised when the program's own prompt texts change: every session is then rebuilt at its next turn. */
export const promptVersion = 1;

export interface PromptDeps {
  readonly agent: Agent;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dataDir: string;
  readonly timeZone: string;
  readonly model: string;
  /** Extra instructions for the session's chat. */
  readonly instructions?: string | undefined;
  readonly identity: { readonly name: string; readonly identity?: string | undefined };
  /** Layers of the features that are switched on: memory snapshot, skills index, guidance. */
  readonly features: readonly ((session: Session) => Promise<readonly Layer[]>)[];
}

export async function freezePrompt(deps: PromptDeps, session: Session): Promise<Omit<Frozen, "at">> {
  const tools = deps.agent.schemas();
  const featureLayers = (await Promise.all(deps.features.map((layersOf) => layersOf(session)))).flat();
  const layers: Layer[] = [
    identityLayer(deps.identity),
    ...featureLayers,
    platformLayer(deps.channels, session),
    toolUseLayer(tools.map((tool) => tool.name)),
    { id: "context-files", text: await readContextFiles(deps.dataDir, deps.logger) },
    { id: "context-files", text: deps.instructions === undefined ? "" : `# Instructions for this chat\n${deps.instructions}` },
    environmentLayer(deps.clock.now(), deps.timeZone),
  ];
  return { system: prompt(layers), tools, model: deps.model, promptVersion };
}

function platformLayer(channels: Channels, session: Session): Layer {
  const notes = channels.get(session.platform)?.adapter.capabilities.promptNotes ?? "";
  const place = isGroup(session.chatKind)
    ? "This is a group: several people read along. Each message is headed [name · id]; answer the one who speaks, and never bring up what somebody told you in private."
    : "This is a direct message with one person.";
  return { id: "platform", text: `# Where you are\n${notes}\n${place}` };
}

function environmentLayer(now: number, timeZone: string): Layer {
  const date = new Intl.DateTimeFormat("en-GB", { timeZone, weekday: "long", year: "numeric", month: "long", day: "numeric" }).format(now);
  return {
    id: "environment",
    text: `# Now\nThis conversation began on ${date} (time zone ${timeZone}). A later message carries its time when the day changed or an hour passed.`,
  };
}
