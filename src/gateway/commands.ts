/**
 * Recognises a command and runs it from the injected table. Commands skip the lanes, so they work while a turn hangs;
 * who may use which is checked here and nowhere else.
 */
import { errorText } from "../domain/errors.js";
import { isGroup, type Speaker } from "../domain/identity.js";
import type { Button, InboundMessage } from "../domain/message.js";
import type { Logger } from "../ports/runtime.js";
import { text, type Language, type TextKey } from "../words/catalogue.js";
import type { Place } from "./acts.js";

export interface CommandContext {
  readonly name: string;
  readonly args: string;
  readonly message: InboundMessage;
  readonly speaker: Speaker;
  readonly place: Place;
  readonly inGroup: boolean;
  readonly language: Language;
  /** How a command is written on this platform. */
  form(command: string): string;
}

export interface CommandReply {
  readonly markdown: string;
  readonly buttons?: readonly Button[];
  /** The command becomes an ordinary turn with this text (for example `/skill NAME text`). */
  readonly turnText?: string;
  /** With `turnText`: the message whose attachments and quotes go with it (a repeated one). */
  readonly turnFrom?: InboundMessage;
  /** With `turnText`: the person's own words in it. */
  readonly said?: string;
}

export interface Command {
  readonly name: string;
  /** Catalogue key of its line in `/help`. */
  readonly help: Extract<TextKey, `help.${string}`>;
  readonly who: "everybody" | "operators";
  /** Personal ones are answered in a group with "ask me in a direct message". */
  readonly where: "anywhere" | "dm";
  /** Overtakes what is being handled in its chat: it must work while everything else hangs. */
  readonly urgent?: boolean;
  run(context: CommandContext): Promise<CommandReply>;
}

export interface CommandRunnerDeps {
  readonly commands: readonly Command[];
  readonly logger: Logger;
}

export class CommandRunner {
  readonly #byName: ReadonlyMap<string, Command>;
  readonly #logger: Logger;

  constructor(deps: CommandRunnerDeps) {
    this.#byName = new Map(deps.commands.map((command) => [command.name, command]));
    this.#logger = deps.logger;
  }

  /** Commands a person may use, for `/help` and menus. */
  list(role: Speaker["role"]): readonly Command[] {
    return [...this.#byName.values()].filter((command) => command.who === "everybody" || role === "operator");
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  knows(name: string): boolean {
    return this.#byName.has(name.toLowerCase());
  }

  isUrgent(name: string): boolean {
    return this.#byName.get(name.toLowerCase())?.urgent === true;
  }

  async run(context: CommandContext): Promise<CommandReply> {
    const command = this.#byName.get(context.name);
    const hidden = command?.who === "operators" && context.speaker.role !== "operator";
    if (command === undefined || hidden) return { markdown: this.#unknown(context) };
    if (command.where === "dm" && context.inGroup) return { markdown: text(context.language, "access.ask-in-dm") };
    try {
      return await command.run(context);
    } catch (error) {
      this.#logger.error({ command: context.name, error: errorText(error) }, "a command failed");
      return { markdown: text(context.language, "command.failed") };
    }
  }

  #unknown(context: CommandContext): string {
    const visible = this.list(context.speaker.role).map((command) => command.name);
    const near = nearest(context.name, visible);
    const written = context.form(context.name);
    if (near === undefined) return text(context.language, "command.unknown", { command: written, help: context.form("help") });
    return text(context.language, "command.unknown-nearest", { command: written, nearest: context.form(near) });
  }
}

export function commandContext(
  message: InboundMessage,
  speaker: Speaker,
  place: Place,
  language: Language,
  form: CommandContext["form"],
): CommandContext | undefined {
  if (message.command === undefined) return undefined;
  return {
    name: message.command.name.toLowerCase(),
    args: message.command.args.trim(),
    message,
    speaker,
    place,
    inGroup: isGroup(message.chat.kind),
    language,
    form,
  };
}

/** The known name at an edit distance of at most 2, where there is exactly one nearest. */
function nearest(typed: string, names: readonly string[]): string | undefined {
  const ranked = names.map((name) => ({ name, distance: distance(typed, name) })).sort((a, b) => a.distance - b.distance);
  const [first] = ranked;
  return first !== undefined && first.distance <= 2 && first.distance < first.name.length - 1 ? first.name : undefined;
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_unused, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      next.push(Math.min((next[j - 1] ?? 0) + 1, (row[j] ?? 0) + 1, (row[j - 1] ?? 0) + cost));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
