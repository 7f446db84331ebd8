/** Health and metrics over HTTP, from a whole gateway: what they say while all is well and when something is not. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { runCli } from "../support/cli.js";
import {
  countRows,
  environmentOf,
  quickTelegram,
  operatorId,
  quiet,
  startGateway,
  textsIn,
  until,
  world,
  type Running,
} from "../support/gateway.js";

interface Health {
  readonly status: string;
  readonly problems: readonly { readonly subject: string; readonly message: string }[];
  readonly platforms: readonly {
    readonly platform: string;
    readonly ok: boolean;
    readonly lastEventAt?: string;
    readonly lastSentAt?: string;
  }[];
}

const base = ({ gateway }: Running): string => `http://127.0.0.1:${gateway.parts.http.port}`;

async function health(running: Running): Promise<{ readonly code: number; readonly body: Health }> {
  const response = await fetch(`${base(running)}/healthz`);
  return { code: response.status, body: (await response.json()) as Health };
}

describe("/healthz", () => {
  it("OP-06: is green while all is well and says when each platform last heard and sent something", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    const running = await startGateway(where, { MNEME_OPERATORS: `telegram:${operatorId}` });
    const before = await health(running);
    const began = Date.now();

    where.telegram.say(operatorId, "hello");
    await until("the answer", () => textsIn(where).length === 1);
    await quiet(where);
    const { code, body } = await health(running);

    expect(before).toMatchObject({ code: 200, body: { status: "ok", problems: [] } });
    expect(before.body.platforms[0]?.lastEventAt).toBeUndefined();
    expect({ code, status: body.status, problems: body.problems }).toEqual({ code: 200, status: "ok", problems: [] });
    expect(Date.parse(body.platforms[0]?.lastEventAt ?? "")).toBeGreaterThanOrEqual(began);
    expect(Date.parse(body.platforms[0]?.lastSentAt ?? "")).toBeGreaterThanOrEqual(began);
  });

  it("OP-06: turns red and names the platform when its polls hang, while the process counts as alive", async () => {
    const where = await world();
    const running = await startGateway(where, { MNEME__telegram__pollTimeoutSeconds: "1" }, quickTelegram);
    expect((await health(running)).code).toBe(200);

    const mend = where.telegram.fail("getUpdates", { never: "before" });
    await until("health is red", async () => (await health(running)).code === 503);
    const red = await health(running);
    const [live, livez] = await Promise.all([fetch(`${base(running)}/healthz?live`), fetch(`${base(running)}/livez`)]);

    expect(red.body.status).toBe("failing");
    expect(red.body.problems.map(({ subject }) => subject)).toEqual(["platform telegram"]);
    expect([live.status, livez.status]).toEqual([200, 200]);
    mend();
    await until("health is green again", async () => (await health(running)).code === 200, 15_000);
  }, 30_000);

  it("names the job queue when Redis is away", async () => {
    const where = await world();
    const running = await startGateway(where, { REDIS_URL: "redis://:planted-password-1@127.0.0.1:1" });

    const { code, body } = await health(running);

    expect(code).toBe(503);
    expect(body.problems).toEqual([{ subject: "jobs", message: expect.stringContaining("Redis does not answer") as string }]);
    expect(JSON.stringify(body)).not.toContain("planted-password-1");
  });

  it("is not served when the port is taken, and the gateway answers people all the same", async () => {
    const other = createServer(() => undefined).listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    onTestFinished(() => void other.close());
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);

    const running = await startGateway(where, {
      MNEME_OPERATORS: `telegram:${operatorId}`,
      MNEME_HTTP_PORT: String((other.address() as AddressInfo).port),
    });
    where.telegram.say(operatorId, "hello");
    await until("the answer", () => textsIn(where).length === 1);

    const warning = running.log.lines.find(({ message }) => message.startsWith("health and metrics are not served"));
    expect(warning).toMatchObject({ level: "warn" });
    expect(JSON.stringify(warning)).toContain("Set another http.port");
  });
});

describe("mneme status", () => {
  it("shows the running gateway's health, what is wrong, and who does the jobs", async () => {
    const where = await world();
    const running = await startGateway(where, { MNEME__telegram__pollTimeoutSeconds: "1" }, quickTelegram);
    const options = { cwd: where.home.dir, env: environmentOf(where) };
    await until(
      "a good report",
      () => countRows(where, `select count(*) n from settings where scope = 'health' and value like '%"status":"ok"%'`) === 1,
    );

    const well = await runCli(["status"], options);
    where.telegram.fail("getUpdates", { never: "before" });
    await until("health is red", async () => (await health(running)).code === 503);
    await until(
      "the report says so",
      () => countRows(where, `select count(*) n from settings where scope = 'health' and value like '%failing%'`) === 1,
      15_000,
    );
    const ill = await runCli(["status"], options);
    await running.stop();
    const off = await runCli(["status"], options);

    expect(well.out).toMatch(/^Health: +ok/m);
    expect(well.out).toMatch(/^Jobs: .*done by the gateway itself$/m);
    expect(ill.out).toMatch(/^Health: +platform telegram: (reconnecting|stopped|starting)/m);
    expect(off.out).not.toContain("Health:");
    expect(off.out).toMatch(/^Jobs: .*nobody does them now$/m);
  }, 60_000);
});

describe("/metrics", () => {
  it("counts turns, tokens and confirmed sends, and shows ages, jobs and the lag of the event loop", async () => {
    const where = await world({ model: { answer: () => "Answer." } });
    where.telegram.person(operatorId);
    const running = await startGateway(where, { MNEME_OPERATORS: `telegram:${operatorId}` });
    where.telegram.say(operatorId, "hello");
    await until("the answer", () => textsIn(where).length === 1);
    await quiet(where);

    const response = await fetch(`${base(running)}/metrics`);
    const text = await response.text();
    const value = (line: string): number =>
      Number(
        text
          .split("\n")
          .find((each) => each.startsWith(`${line} `))
          ?.split(" ")[1],
      );

    expect(response.headers.get("content-type")).toContain("text/plain");
    expect(value("mneme_healthy")).toBe(1);
    expect(value('mneme_platform_up{platform="telegram"}')).toBe(1);
    expect(value('mneme_platform_restarts{platform="telegram"}')).toBe(0);
    expect(value('mneme_turn_seconds_count{platform="telegram",outcome="answered"}')).toBe(1);
    expect(value('mneme_delivery_seconds_count{platform="telegram",kind="reply"}')).toBe(1);
    expect(value('mneme_model_tokens_total{kind="input"}')).toBeGreaterThan(0);
    expect(value('mneme_model_tokens_total{kind="output"}')).toBeGreaterThan(0);
    expect(value("mneme_model_cache_hit_share")).toBeGreaterThanOrEqual(0);
    expect(value('mneme_platform_last_event_timestamp_seconds{platform="telegram"}')).toBeGreaterThan(Date.now() / 1000 - 60);
    expect(value('mneme_platform_last_sent_timestamp_seconds{platform="telegram"}')).toBeGreaterThan(Date.now() / 1000 - 60);
    expect(value('mneme_queue_oldest_age_seconds{platform="telegram",queue="outbox"}')).toBe(0);
    expect(value('mneme_jobs{state="failed"}')).toBe(0);
    expect(value("nodejs_eventloop_lag_p99_seconds")).toBeGreaterThanOrEqual(0);
    expect(text).not.toContain(where.telegram.token);
  });
});
