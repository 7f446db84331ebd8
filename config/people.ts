/**
 * Settings about people and places: who may use which tools, what each chat does differently, what a day may cost. Parts of the
 * schema (config/schema.ts), kept here for length.
 */
import { z } from "zod";
import { choice, count } from "./fields.js";

const names = (standard: readonly string[]) => z.array(z.string().min(1).max(100)).default([...standard]);

const role = (standard: readonly string[]) =>
  z.strictObject({
    tools: names(standard).describe(
      "Tools this role may use: names, beginnings with *, builtin (all that are not from MCP servers), or * for every tool; !name takes one out.",
    ),
  });

export const roles = z.strictObject({
  operator: role(["*"]).prefault({}).describe("Operators."),
  user: role(["builtin"]).prefault({}).describe("Admitted people."),
  guest: role(["memory", "session_search", "skills_list", "skill_view"]).prefault({}).describe("Members of admitted groups."),
});

export const reset = z.strictObject({
  mode: choice(["none", "idle", "daily", "both"], "none").describe("When a conversation ends by itself; what was learnt stays."),
  idleMinutes: count(1440, 1, 525_600).describe("With idle or both: after so long without a message."),
  dailyHour: count(4, 0, 23).describe("With daily or both: at this hour, in the conversation's time zone."),
});

const chat = z.strictObject({
  model: z.string().min(1).optional().describe("Model for this chat instead of model.id."),
  instructions: z.string().max(10_000).optional().describe("Extra instructions for the agent in this chat."),
  skills: z.array(z.string().min(1)).optional().describe("Names of the only skills that may be used in this chat; without it all."),
  busyMode: z.enum(["queue", "steer", "interrupt"]).optional().describe("sessions.busyMode for this chat."),
});

export const chats = z
  .record(z.string().regex(/^(telegram|discord|slack|terminal):\S+$/, 'written "platform:chat" or "platform:chat/thread"'), chat)
  .default({})
  .meta({ examples: [{ "telegram:-1001234567890": { model: "small-model", instructions: "Answer in one paragraph." } }] });

const price = z.strictObject({
  input: z.number().min(0).max(1_000_000).describe("For a million tokens in."),
  cached: z.number().min(0).max(1_000_000).optional().describe("For a million tokens in from the cache; without it as input."),
  output: z.number().min(0).max(1_000_000).describe("For a million tokens out."),
});

export const prices = z.strictObject({
  currency: z.string().min(1).max(10).default("USD").describe("What the prices are in; shown behind sums."),
  models: z
    .record(z.string(), price)
    .default({})
    .describe("Prices by name of the model.")
    .meta({ examples: [{ "model-name": { input: 1.25, cached: 0.125, output: 10 } }] }),
});

const budget = z.strictObject({
  tokens: count(0, 0, 1_000_000_000_000).describe("Tokens in and out in one day (of `timezone`); 0 = no limit."),
  cost: z.number().min(0).max(1_000_000_000).default(0).describe("Cost of one day by `prices`; 0 = no limit."),
});

export const budgets = z.strictObject({
  person: budget.prefault({}).describe("Each admitted person; operators have none."),
  guest: budget.prefault({}).describe("Each guest of a group."),
});
