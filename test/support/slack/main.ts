/**
 * The emulator as a process of its own: `tsx test/support/slack/main.ts`. Prints one JSON line with the addresses and
 * tokens; other processes steer it by POST of JSON to /{say,change,slash,press,event,fail,sent,calls,acks,disconnect}.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SlackEmulator, type Failure, type Spoken } from "./emulator.js";

interface ControlBody extends Spoken {
  readonly ts: string;
  readonly value: string;
  readonly method: string;
  readonly failure: Failure;
  readonly event: Record<string, unknown>;
}

const emulator = await new SlackEmulator().start();

const routes: Readonly<Record<string, (body: ControlBody) => unknown>> = {
  say: (body) => ({ ts: emulator.say(body).ts }),
  change: ({ channel, ts, text }) => ({ id: emulator.change(channel, ts, text).id }),
  slash: ({ channel, user, text }) => ({ id: emulator.slash({ channel, user, text }).id }),
  press: ({ channel, user, ts, value }) => ({ id: emulator.press({ channel, user, ts, value }).id }),
  event: ({ event }) => ({ id: emulator.event(event).id }),
  fail: ({ method, failure }) => emulator.fail(method, failure),
  sent: () => emulator.sent().map(({ channel, ts, threadTs, text, blocks }) => ({ channel, ts, threadTs, text, blocks })),
  calls: () => emulator.calls.map(({ method, args }) => ({ method, args })),
  acks: () => emulator.acks().map(({ type, id, attempts, latencyMs }) => ({ type, id, attempts, latencyMs })),
  disconnect: () => emulator.source.disconnectMessage("refresh_requested"),
};

const control = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const run = routes[(request.url ?? "").slice(1)];
    try {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}") as ControlBody;
      response.writeHead(run === undefined ? 404 : 200, { "content-type": "application/json" }).end(JSON.stringify(run?.(body) ?? null));
    } catch (error) {
      response.writeHead(400).end(String(error));
    }
  });
});
control.listen(0, "127.0.0.1", () => {
  const { apiUrl, fileHost, botToken, appToken, signingSecret } = emulator;
  const url = `http://127.0.0.1:${(control.address() as AddressInfo).port}`;
  process.stdout.write(`${JSON.stringify({ control: url, apiUrl, fileHost, botToken, appToken, signingSecret })}\n`);
});
