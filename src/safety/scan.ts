/**
 * Refuses hostile text before it becomes memory, a skill or context. It judges the text alone: whether the person
 * said it at all is the caller's second check, and a text that passes is still data, never trusted.
 */
import { hiddenCharacter, normalForms } from "./normalise.js";
import { chineseOrders, chinesePatterns } from "./patterns-chinese.js";
import { commandPatterns } from "./patterns-commands.js";
import { sentencePatterns, standingOrders, type Pattern, type ScanReason } from "./patterns.js";
import { containsSecret } from "./redact.js";

export type { ScanReason } from "./patterns.js";

export type ScanResult = { readonly ok: true } | { readonly ok: false; readonly reason: ScanReason };

/**
 * What the text is to become. `memory` is judged most strictly; `skill` (written by the agent) and `context` (a file
 * the operator wrote) may hold plain orders, since ordering is what they are for. `recall` is text of our own past.
 */
export type ScanPurpose = "memory" | "skill" | "context" | "recall";

const patterns: readonly Pattern[] = [...sentencePatterns, ...commandPatterns, ...chinesePatterns, ...standingOrders, ...chineseOrders];

/**
 * Judges a text. Pure, linear in its length for ordinary text; the same text always gives the same first reason.
 * Long base64 runs are decoded once and judged too.
 */
export function scan(text: string, purpose: ScanPurpose = "memory"): ScanResult {
  if (hiddenCharacter(text) !== undefined) return { ok: false, reason: "invisible-unicode" };
  const reason = firstReason(text, purpose) ?? decodedReason(text, purpose);
  if (reason !== undefined) return { ok: false, reason };
  if (purpose !== "recall" && containsSecret(text)) return { ok: false, reason: "secret" };
  return { ok: true };
}

/** The sentence that goes with a refusal, for tool results. The id is the stable part. */
export function scanMessage(reason: ScanReason): string {
  return `Refused by the security scan (${reason}): ${explanations[reason]}`;
}

const explanations: Readonly<Record<ScanReason, string>> = {
  "instruction-override": "the text tells the agent to drop its instructions.",
  "role-hijack": "the text gives the agent another identity or mode.",
  deception: "the text asks the agent to hide things from the person or to deceive them.",
  "concealed-rule": "the text poses as system text or changes the agent's rules.",
  exfiltration: "the text sends secrets or conversations elsewhere.",
  "credential-read": "the text reads files that hold credentials.",
  "ssh-backdoor": "the text opens a way into a machine.",
  persistence: "the text makes a command run again by itself.",
  "invisible-unicode": "the text holds invisible or reordering characters.",
  secret: "the text holds a key, token or password; say where it is kept instead.",
  "standing-order": "the text is an order to yourself; write a declarative fact instead.",
};

function firstReason(text: string, purpose: ScanPurpose): ScanReason | undefined {
  const forms = normalForms(text);
  for (const { reason, on, match } of patterns) {
    if (reason === "standing-order" && purpose !== "memory") continue;
    if (forms[on].some((form) => match.test(form))) return reason;
  }
  return undefined;
}

function decodedReason(text: string, purpose: ScanPurpose): ScanReason | undefined {
  for (const [run] of text.matchAll(/[A-Za-z0-9+/]{24,}={0,2}/gu)) {
    const decoded = Buffer.from(run, "base64").toString("utf8");
    const readable = decoded.match(/[\p{L}\p{N}\p{P}\p{Zs}\n]/gu)?.length ?? 0;
    if (decoded.includes("\uFFFD") || readable < [...decoded].length * 0.95) continue;
    const reason = firstReason(decoded, purpose);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
