/**
 * The container files keep their promises. There is no Docker engine where the tests run, so they are checked as text: what they promise, and that
 * every command, file, path and address in them exists.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseDocument } from "yaml";
import { z } from "zod";
import { settingsFrom, variables } from "../../config/env.js";
import { configSchema } from "../../config/schema.js";
import { leafPaths } from "../../config/schema-tree.js";

const root = join(import.meta.dirname, "..", "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const program = "dist/src/cli/main.js";

const healthcheck = z.strictObject({
  test: z.tuple([z.literal("CMD")], z.string()),
  interval: z.string().regex(/^\d+s$/),
  timeout: z.string().regex(/^\d+s$/),
  retries: z.number().int().positive(),
  start_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
});
/** The part of the compose specification that this file uses; a mistyped key is an error. */
const service = z.strictObject({
  build: z.string().optional(),
  image: z.string(),
  init: z.boolean().optional(),
  restart: z.literal("unless-stopped"),
  stop_grace_period: z.string(),
  env_file: z.string().optional(),
  security_opt: z.array(z.string()).optional(),
  volumes: z.array(z.string().regex(/^[a-z]+:\/[a-z]+$/)),
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()).optional(),
  ports: z.array(z.string()).optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.enum(["service_started", "service_healthy"]) })).optional(),
  healthcheck,
});
const composeFile = z.strictObject({
  "x-mneme": z.unknown(),
  services: z.strictObject({ redis: service, gateway: service, worker: service }),
  volumes: z.record(z.string(), z.null()),
});

describe("docker-compose.yml", () => {
  const text = read("docker-compose.yml");
  const compose = composeFile.parse(parse(text, { merge: true }));
  const { redis, gateway, worker } = compose.services;

  it("is valid YAML without a warning", () => {
    const document = parseDocument(text, { merge: true, uniqueKeys: true });

    expect([...document.errors, ...document.warnings]).toEqual([]);
  });

  it("keeps Redis's jobs on disk and never evicts one", () => {
    expect(redis.command.join(" ")).toContain("--appendonly yes");
    expect(redis.command.join(" ")).toContain("--maxmemory-policy noeviction");
    expect(redis.healthcheck.test).toEqual(["CMD", "redis-cli", "ping"]);
    expect(redis.volumes).toEqual(["redis:/data"]);
  });

  it("runs gateway and worker from one image, on one data volume, with the settings of .env", () => {
    expect(gateway.command).toEqual(["node", program, "start"]);
    expect(worker.command).toEqual(["node", program, "worker"]);
    for (const each of [gateway, worker]) {
      expect(each).toMatchObject({ build: ".", image: "mneme", env_file: ".env", volumes: ["data:/data"] });
      expect(each.environment?.["MNEME_DATA_DIR"]).toBe("/data");
      expect(each.environment?.["REDIS_URL"]).toBe("redis://redis:6379");
    }
    expect(Object.keys(compose.volumes).toSorted()).toEqual(["data", "redis"]);
  });

  it("gives everything 30 seconds to stop", () => {
    expect(Object.values(compose.services).map((each) => each.stop_grace_period)).toEqual(["30s", "30s", "30s"]);
  });

  it("starts the gateway whether Redis is well or not", () => {
    expect(gateway.depends_on).toEqual({ redis: { condition: "service_started" } });
  });

  it("asks the gateway's /healthz on the port that it sets, and the worker's lease by the program", () => {
    const port = gateway.environment?.["MNEME_HTTP_PORT"] ?? "";
    const sources = readdirSync(join(root, "src/app"))
      .map((file) => read(`src/app/${file}`))
      .join("\n");

    expect(gateway.healthcheck.test.slice(0, 3)).toEqual(["CMD", "node", "--eval"]);
    expect(gateway.healthcheck.test[3]).toContain(`http://127.0.0.1:${port}/healthz`);
    expect(gateway.ports).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(sources.includes('"/healthz"'), "src/app mounts /healthz").toBe(true);
    expect(worker.healthcheck.test).toEqual(["CMD", "node", program, "worker", "--health"]);
  });

  it.each([
    [200, 0],
    [503, 1],
    [undefined, 1],
  ])("calls a gateway that answers %s healthy when the check's exit code is %i", async (status, exitCode) => {
    const server = createServer((request, response) => response.writeHead(request.url === "/healthz" ? (status ?? 200) : 404).end());
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const close = (): Promise<void> => new Promise((resolve) => void server.close(() => resolve()));
    if (status === undefined) await close();
    const script = gateway.healthcheck.test[3]?.replace("8787", String(port)) ?? "";
    const check = spawn(process.execPath, ["--eval", script], { stdio: "ignore" });

    expect(await new Promise((resolve) => check.once("exit", resolve))).toBe(exitCode);
    if (status !== undefined) await close();
  });

  it("sets only variables that the program knows", () => {
    const known = new Set(leafPaths(configSchema));
    const set = [gateway, worker].flatMap((each) => settingsFrom(each.environment ?? {}));

    expect(set.map(({ parts }) => parts.join(".")).filter((path) => !known.has(path))).toEqual([]);
    expect(set).toHaveLength(Object.keys({ ...gateway.environment }).length + Object.keys({ ...worker.environment }).length);
  });

  it("runs only commands and options that exist", () => {
    const main = read("src/cli/main.ts");
    const commandOf = (name: string): string => main.split(/\.command\(/).find((part) => part.startsWith(`"${name}"`)) ?? "";
    const calls = [gateway.command, worker.command, worker.healthcheck.test.slice(1), dockerCommand()];

    for (const [node, file, name = "", ...options] of calls) {
      expect([node, file]).toEqual(["node", program]);
      expect(commandOf(name), `mneme ${name}`).not.toBe("");
      for (const option of options) expect(commandOf(name), `mneme ${name} ${option}`).toContain(`"${option}`);
    }
  });
});

function lines(): string[] {
  return read("Dockerfile")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

function dockerCommand(): string[] {
  return z.array(z.string()).parse(JSON.parse(lines().at(-1)?.replace(/^CMD /, "") ?? ""));
}

describe("the Dockerfile", () => {
  const all = lines();
  const last = all.slice(all.findLastIndex((line) => line.startsWith("FROM")));

  it("builds and runs on the same Node, one that the program supports", () => {
    const { engines } = JSON.parse(read("package.json")) as { engines: { node: string } };

    expect(all.filter((line) => line.startsWith("FROM"))).toEqual(["FROM node:22-slim AS build", "FROM node:22-slim"]);
    expect(engines.node).toMatch(/^>=20\./);
  });

  it("installs what the lock file says, builds, and leaves development packages and the compiler behind", () => {
    const text = all.join("\n");
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

    for (const part of ["python3 make g++", "npm ci ", "npm rebuild better-sqlite3", "npm run build", "npm prune --omit=dev"]) {
      expect(text).toContain(part);
    }
    expect(scripts["build"]).toBe("tsc -p tsconfig.build.json");
    expect(last.join("\n")).not.toMatch(/apt-get|npm /);
  });

  it("runs the gateway, not as root, on a data folder that is its own", () => {
    expect(last).toContain("USER node");
    expect(last.findIndex((line) => line.startsWith("USER"))).toBeGreaterThan(
      last.findIndex((line) => line.includes("chown node:node /data")),
    );
    expect(last.join("\n")).toContain(`MNEME_DATA_DIR=/data`);
    expect(variables["MNEME_DATA_DIR"]).toBe("data.dir");
    expect(dockerCommand()).toEqual(["node", program, "start"]);
  });

  it("copies named files that exist, never the whole folder", () => {
    const copied = all
      .filter((line) => line.startsWith("COPY ") && !line.includes("--from="))
      .flatMap((line) => line.split(" ").slice(1, -1));
    const ignored = read(".dockerignore").split("\n");

    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((path) => !existsSync(join(root, path)) || ignored.includes(path))).toEqual([]);
    expect(copied).not.toContain(".");
  });

  it("never sees secrets, data or foreign builds", () => {
    const ignored = read(".dockerignore").split("\n");

    expect(ignored).toEqual(expect.arrayContaining([".env", "mneme.yaml", "data", "node_modules", "dist", ".git"]));
  });
});
