/**
 * When a conversation ends by itself. Times are compared as local dates, so a change of clocks or zone never ends one twice:
 * each date has one slot, and a slot that was used is recorded with the session's end.
 */
export interface ResetRules {
  readonly mode: "none" | "idle" | "daily" | "both";
  readonly idleMinutes: number;
  /** Local hour (0–23) at which a day's slot begins. */
  readonly dailyHour: number;
}

const minuteMs = 60_000;

/** The date whose slot an instant lies in: before `hour` it is still the day before. `YYYY-MM-DD`. */
export function slotOf(at: number, hour: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    hourCycle: "h23",
  }).formatToParts(at);
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value);
  const day = Date.UTC(part("year"), part("month") - 1, part("day"));
  return new Date(part("hour") < hour ? day - 86_400_000 : day).toISOString().slice(0, 10);
}

/**
 * Why a session ends before its next message, or undefined. `lastSlot`: the slot that ended this place's session before, so that one date ends
 * one conversation at most, whatever happens to clock and zone.
 */
export function resetReason(
  rules: ResetRules,
  session: { readonly createdAt: number; readonly lastActiveAt: number },
  now: number,
  zone: { readonly timeZone: string; readonly lastSlot: string | undefined },
): "idle" | "daily" | undefined {
  if ((rules.mode === "idle" || rules.mode === "both") && now - session.lastActiveAt >= rules.idleMinutes * minuteMs) return "idle";
  if (rules.mode !== "daily" && rules.mode !== "both") return undefined;
  const slot = slotOf(now, rules.dailyHour, zone.timeZone);
  if (zone.lastSlot !== undefined && slot <= zone.lastSlot) return undefined;
  return slotOf(Math.max(session.createdAt, session.lastActiveAt), rules.dailyHour, zone.timeZone) < slot ? "daily" : undefined;
}
