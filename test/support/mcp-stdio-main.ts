/**
 * The workshop as a process that speaks MCP on stdin and stdout: `tsx test/support/mcp-stdio-main.ts [OPTIONS]`, options as JSON: those of
 * the workshop, `modern` (refuses clients of the older protocol) and `stubborn` (ends at nothing but SIGKILL).
 */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createWorkshop, type WorkshopOptions } from "./mcp-workshop.js";

const options = JSON.parse(process.argv[2] ?? "{}") as WorkshopOptions & { readonly modern?: boolean; readonly stubborn?: boolean };
if (options.stubborn === true) {
  process.on("SIGTERM", () => undefined);
  setInterval(() => undefined, 1000);
}
process.stderr.write("workshop opens\n");
serveStdio(() => createWorkshop(options), { legacy: options.modern === true ? "reject" : "serve" });
