/**
 * Rules between settings. They speak only of what is in use: a half-filled branch of a platform without a token is not an error.
 */
import type { z } from "zod";

interface Checked {
  readonly model: {
    readonly baseUrl: string;
    readonly aux: { id?: string | undefined; baseUrl?: string | undefined; apiKey?: string | undefined };
  };
  readonly telegram: { token?: string | undefined; mode: string; webhookUrl?: string | undefined; webhookSecret?: string | undefined };
  readonly slack: { botToken?: string | undefined; mode: string; appToken?: string | undefined; signingSecret?: string | undefined };
  readonly memory: { readonly provider: string };
  readonly honcho: { apiKey?: string | undefined; readonly baseUrl: string };
  readonly supermemory: { apiKey?: string | undefined };
  readonly mcp: { readonly servers: Readonly<Record<string, { command?: string | undefined; url?: string | undefined; args: string[] }>> };
}

type Complain = (path: string[], message: string) => void;

/** Adds one issue per broken rule, at the key that has to change. */
export function crossChecks(config: Checked, context: z.RefinementCtx): void {
  const complain: Complain = (path, message) => {
    context.addIssue({ code: "custom", path, message });
  };
  checkTelegram(config.telegram, complain);
  checkSlack(config.slack, complain);
  const { aux } = config.model;
  if (aux.id === undefined && (aux.baseUrl !== undefined || aux.apiKey !== undefined)) {
    complain(["model", "aux", "id"], "is needed when model.aux.baseUrl or model.aux.apiKey is set");
  }
  checkProvider(config, complain);
  for (const [name, server] of Object.entries(config.mcp.servers)) {
    if ((server.command === undefined) === (server.url === undefined)) {
      complain(["mcp", "servers", name], "needs either command (a program) or url (an address), and not both");
    }
  }
}

function checkTelegram(telegram: Checked["telegram"], complain: Complain): void {
  if (telegram.token === undefined || telegram.mode !== "webhook") return;
  if (telegram.webhookUrl === undefined) complain(["telegram", "webhookUrl"], "is needed when telegram.mode is webhook");
  if (telegram.webhookSecret === undefined) complain(["telegram", "webhookSecret"], "is needed when telegram.mode is webhook");
}

function checkSlack(slack: Checked["slack"], complain: Complain): void {
  if (slack.botToken === undefined) return;
  if (slack.mode === "socket" && slack.appToken === undefined) {
    complain(["slack", "appToken"], "is needed when slack.mode is socket (or set slack.mode to http)");
  }
  if (slack.mode === "http" && slack.signingSecret === undefined) complain(["slack", "signingSecret"], "is needed when slack.mode is http");
}

function checkProvider({ memory: { provider }, honcho, supermemory }: Checked, complain: Complain): void {
  if (provider === "honcho" && honcho.apiKey === undefined && new URL(honcho.baseUrl).hostname === "api.honcho.dev") {
    complain(["honcho", "apiKey"], "is needed when memory.provider is honcho and honcho.baseUrl is the hosted service (HONCHO_API_KEY)");
  }
  if (provider === "supermemory" && supermemory.apiKey === undefined) {
    complain(["supermemory", "apiKey"], "is needed when memory.provider is supermemory (SUPERMEMORY_API_KEY)");
  }
}
