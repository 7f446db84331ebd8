/** The table of error codes as a page. The comment beside each code in src/domain/errors.ts is the documentation; this only prints it. */
import { errorCodes, GatewayError, type ErrorCode } from "../src/domain/errors.js";

/** The text of docs/errors.md. */
export function errorPage(): string {
  const rows = (Object.keys(errorCodes) as ErrorCode[]).map((code) => {
    const repeat = new GatewayError(code, "").retryable ? "yes" : "no";
    return `| \`${code}\` | ${errorCodes[code]} | ${repeat} |`;
  });
  return [
    "# Error codes",
    "",
    "Every failure in the log carries one of these in `code`. *Again* says whether the program may repeat it by itself. Made by `npm run generate`.",
    "",
    "| code | meaning | again |",
    "| --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}
