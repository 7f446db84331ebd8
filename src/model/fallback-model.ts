/**
 * A chain of models behind one ChatModel: the next one is asked when a model fails for a reason that another may not have. Once
 * text was shown nothing is asked again, and a model that failed rests for a while. Answers carry the name of the model that gave them.
 */
import type { ChatModel, ModelEvent, ModelFailure, ModelFailureClass, ModelRequest } from "../ports/chat-model.js";
import type { Clock, Logger } from "../ports/runtime.js";

export interface ChainedModel {
  /** What its server calls it; requests of the chain are sent under this name. */
  readonly id: string;
  /** How the answer names it: in usage, prices and the word to the person. */
  readonly name: string;
  readonly model: ChatModel;
}

export interface FallbackModelDeps {
  /** Takes requests as they are, with the model they name. */
  readonly primary: ChatModel;
  /** Asked in this order. */
  readonly fallbacks: readonly ChainedModel[];
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Link {
  readonly name: string;
  readonly model: ChatModel;
  readonly request: ModelRequest;
}

/** Failures that say something about a server, not about the request (field report MC-12). `protocol` is a page of a proxy or a cut stream. */
const passesOn: ReadonlySet<ModelFailureClass> = new Set<ModelFailureClass>(["rate-limit", "server", "network", "timeout", "protocol"]);
/** How long a failed model rests, milliseconds; doubled with each failure in a row. */
const firstRestMs = 30_000;
const longestRestMs = 600_000;

export class FallbackModel implements ChatModel {
  readonly #deps: FallbackModelDeps;
  readonly #resting = new Map<string, { readonly until: number; readonly failures: number }>();

  constructor(deps: FallbackModelDeps) {
    this.#deps = deps;
  }

  describe(): ReturnType<ChatModel["describe"]> {
    return this.#deps.primary.describe();
  }

  async *complete(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
    const links = this.#order(request);
    let first: ModelFailure | undefined;
    for (const [index, link] of links.entries()) {
      const failed = yield* this.#ask(link, signal);
      if (failed === undefined) return;
      // The first failure is what the person is told: a fallback with a smaller window must not make the conversation look too long.
      first ??= failed;
      const isQuiet = failed.partialText === "" && failed.failure !== "aborted";
      const next = isQuiet && !signal.aborted && this.#mayPass(link, failed, index) ? links[index + 1] : undefined;
      if (next === undefined) {
        yield { type: "result", result: isQuiet ? first : failed };
        return;
      }
      this.#deps.logger.warn({ model: link.name, failure: failed.failure, next: next.name }, "the next model is asked");
    }
  }

  /** A fallback that cannot take this request at all is passed over; the first one's refusal is about the request itself. */
  #mayPass(link: Link, failed: ModelFailure, index: number): boolean {
    const goesOn = passesOn.has(failed.failure);
    if (goesOn) this.#rest(link, failed);
    return goesOn || index > 0;
  }

  /** Yields the answer; returns the failure instead of yielding it. */
  async *#ask(link: Link, signal: AbortSignal): AsyncGenerator<ModelEvent, ModelFailure | undefined> {
    let shown = "";
    for await (const event of link.model.complete(link.request, signal)) {
      if (event.type === "text") {
        shown += event.text;
        yield event;
      } else if (event.result.ok) {
        this.#resting.delete(link.name);
        yield { type: "result", result: { ...event.result, model: link.name } };
        return undefined;
      } else return shown === "" ? event.result : { ...event.result, partialText: shown };
    }
    throw new TypeError("a model ended without a result");
  }

  /** Models that rest come last, the one that is rested soonest first: when all failed, waiting would help nobody. */
  #order(request: ModelRequest): Link[] {
    const { primary, fallbacks, clock } = this.#deps;
    const links: Link[] = [
      { name: request.model, model: primary, request },
      ...fallbacks.map(({ id, name, model }) => ({ name, model, request: { ...request, model: id } })),
    ];
    const now = clock.now();
    const restsUntil = ({ name }: Link): number => Math.max(this.#resting.get(name)?.until ?? 0, now);
    return links.toSorted((a, b) => restsUntil(a) - restsUntil(b));
  }

  #rest({ name }: Link, { retryAfterMs }: ModelFailure): void {
    const failures = (this.#resting.get(name)?.failures ?? 0) + 1;
    const ms = Math.min(longestRestMs, Math.max(retryAfterMs ?? 0, firstRestMs * 2 ** (failures - 1)));
    this.#resting.set(name, { until: this.#deps.clock.now() + ms, failures });
  }
}
