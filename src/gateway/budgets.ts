/**
 * Prices and daily budgets: what tokens cost, and whether somebody has used up their day. A turn that has begun is finished; the next one is
 * refused with a word.
 */
import type { Role, Speaker } from "../domain/identity.js";
import type { Clock } from "../ports/runtime.js";
import type { ModelUsage, UsageStore } from "../ports/usage.js";
import { text, type Language } from "../words/catalogue.js";

export interface Price {
  readonly input: number;
  readonly cached?: number | undefined;
  readonly output: number;
}

export interface Prices {
  readonly currency: string;
  readonly models: { readonly [model: string]: Price };
}

export interface Budget {
  /** Tokens in and out of one day; 0 = no limit. */
  readonly tokens: number;
  /** In the prices' currency; 0 = no limit. */
  readonly cost: number;
}

export interface Sum {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly turns: number;
  /** Undefined when a model that was used has no price. */
  readonly cost: number | undefined;
}

const million = 1_000_000;

/** All models together. Nothing used costs 0. */
export function sumOf(usage: readonly ModelUsage[], prices: Prices): Sum {
  const zero: Sum = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, turns: 0, cost: 0 };
  return usage.reduce((sum, used) => {
    const cost = costOf(used, prices.models[used.model]);
    return {
      inputTokens: sum.inputTokens + used.inputTokens,
      cachedTokens: sum.cachedTokens + used.cachedTokens,
      outputTokens: sum.outputTokens + used.outputTokens,
      turns: sum.turns + used.turns,
      cost: cost === undefined || sum.cost === undefined ? undefined : sum.cost + cost,
    };
  }, zero);
}

function costOf(used: ModelUsage, price: Price | undefined): number | undefined {
  if (used.inputTokens + used.outputTokens === 0) return 0;
  if (price === undefined) return undefined;
  const fresh = Math.max(0, used.inputTokens - used.cachedTokens);
  return (fresh * price.input + used.cachedTokens * (price.cached ?? price.input) + used.outputTokens * price.output) / million;
}

/** Share of the budget that is used, 1 = all; undefined where there is no limit. */
export function shareUsed(sum: Sum, budget: Budget): number | undefined {
  const shares = [
    ...(budget.tokens > 0 ? [(sum.inputTokens + sum.outputTokens) / budget.tokens] : []),
    ...(budget.cost > 0 && sum.cost !== undefined ? [sum.cost / budget.cost] : []),
  ];
  return shares.length === 0 ? undefined : Math.max(...shares);
}

/** When the local day of an instant began, epoch ms (to the minute; a day that begins inside a change of clocks may be an hour off). */
export function dayStart(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).formatToParts(at);
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value);
  return at - (at % 1_000) - ((part("hour") * 60 + part("minute")) * 60 + part("second")) * 1_000;
}

export interface BudgetsDeps {
  readonly usage: UsageStore;
  readonly prices: Prices;
  readonly budgets: { readonly person: Budget; readonly guest: Budget };
  readonly timeZone: string;
  readonly clock: Clock;
}

export class Budgets {
  readonly #deps: BudgetsDeps;

  constructor(deps: BudgetsDeps) {
    this.#deps = deps;
  }

  /** The budget of a role; undefined for operators, who have none. */
  budgetOf(role: Role): Budget | undefined {
    const { budgets } = this.#deps;
    return role === "operator" ? undefined : role === "guest" ? budgets.guest : budgets.person;
  }

  async today(personId: string): Promise<Sum> {
    const { usage, prices, clock, timeZone } = this.#deps;
    return sumOf(await usage.sum({ personId }, dayStart(clock.now(), timeZone)), prices);
  }

  /** The word to somebody who has used up their day, or undefined. */
  async overBudget(speaker: Speaker, language: Language): Promise<string | undefined> {
    const budget = this.budgetOf(speaker.role);
    if (budget === undefined || (budget.tokens === 0 && budget.cost === 0)) return undefined;
    const share = shareUsed(await this.today(speaker.personId), budget);
    if (share === undefined || share < 1) return undefined;
    const { clock, timeZone } = this.#deps;
    const next = dayStart(clock.now(), timeZone) + 86_400_000;
    const when = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" }).format(next);
    return text(language, "budget.used-up", { when: `${when} (${timeZone})` });
  }
}
