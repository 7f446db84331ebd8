/** /usage: tokens and cost of the last answer, the conversation and the person's day. In a group only what belongs to that conversation. */
import { dayStart, shareUsed, sumOf, type Budgets, type Prices, type Sum } from "../gateway/budgets.js";
import type { Command, CommandContext, CommandReply } from "../gateway/commands.js";
import type { Clock } from "../ports/runtime.js";
import type { Sessions } from "../ports/stores.js";
import type { UsageOf, UsageStore } from "../ports/usage.js";
import { text, type Language } from "../words/catalogue.js";

export interface UsageCommandDeps {
  readonly usage: UsageStore;
  readonly budgets: Budgets;
  readonly prices: Prices;
  readonly sessions: Pick<Sessions, "active">;
  readonly clock: Clock;
  readonly timeZone: string;
}

const monthMs = 30 * 86_400_000;

export function usageCommands(deps: UsageCommandDeps): Command[] {
  return [{ name: "usage", help: "help.usage", who: "everybody", where: "anywhere", run: (context) => usage(deps, context) }];
}

async function usage(deps: UsageCommandDeps, context: CommandContext): Promise<CommandReply> {
  const { language, speaker, place, inGroup } = context;
  const { clock, budgets } = deps;
  const since = async (of: UsageOf, at: number): Promise<string> =>
    shown(sumOf(await deps.usage.sum(of, at), deps.prices), deps.prices, language);
  const lines = [`**${text(language, "usage.title")}**`];
  const session = await deps.sessions.active(place.key);
  if (session !== undefined) {
    lines.push(text(language, "usage.turn", { sum: await since({ lastTurnOf: session.id }, 0) }));
    lines.push(text(language, "usage.session", { sum: await since({ sessionId: session.id }, 0) }));
  }
  if (inGroup) return { markdown: [...lines, text(language, "access.ask-in-dm")].join("\n\n") };
  const today = await budgets.today(speaker.personId);
  lines.push(text(language, "usage.today", { sum: shown(today, deps.prices, language) }));
  lines.push(text(language, "usage.month", { sum: await since({ personId: speaker.personId }, clock.now() - monthMs) }));
  const budget = budgets.budgetOf(speaker.role);
  const share = budget === undefined ? undefined : shareUsed(today, budget);
  if (share !== undefined) lines.push(text(language, "usage.left", { percent: Math.round(share * 100) }));
  if (speaker.role === "operator") {
    lines.push(text(language, "usage.all-today", { sum: await since({ everybody: true }, dayStart(clock.now(), deps.timeZone)) }));
  }
  return { markdown: lines.join("\n\n") };
}

function shown(sum: Sum, prices: Prices, language: Language): string {
  const tokens = { input: grouped(sum.inputTokens), cached: grouped(sum.cachedTokens), output: grouped(sum.outputTokens) };
  if (sum.cost === undefined || Object.keys(prices.models).length === 0) return text(language, "usage.sum", tokens);
  return text(language, "usage.sum-cost", { ...tokens, cost: `${sum.cost.toFixed(sum.cost < 1 ? 4 : 2)} ${prices.currency}` });
}

function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/gu, ",");
}
