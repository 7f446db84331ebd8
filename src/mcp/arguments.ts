/**
 * Checks arguments against a server's own JSON Schema, with the validator the client library brings. A schema that cannot be understood checks
 * nothing: the server checks its arguments itself and answers with an error.
 */
import { z } from "zod";
import { errorText } from "../domain/errors.js";
import type { Logger } from "../ports/runtime.js";

type Verdict = { readonly valid: true } | { readonly valid: false; readonly errorMessage: string };

/** A zod type for the arguments: an object that fits `schema`. The schema is compiled at the first call and changes nothing in the value. */
export function argumentCheck(schema: { readonly [key: string]: unknown }, logger: Logger): z.ZodType<unknown> {
  let compiled: Promise<(value: unknown) => Verdict> | undefined;
  return z.record(z.string(), z.unknown()).superRefine(async (value, context) => {
    compiled ??= compile(schema, logger);
    const verdict = (await compiled)(value);
    if (!verdict.valid) context.addIssue({ code: "custom", message: verdict.errorMessage });
  });
}

async function compile(schema: { readonly [key: string]: unknown }, logger: Logger): Promise<(value: unknown) => Verdict> {
  const { AjvJsonSchemaValidator } = await import("@modelcontextprotocol/client/validators/ajv");
  try {
    // A validator of its own for each schema: two schemas may carry the same $id.
    return new AjvJsonSchemaValidator().getValidator(schema);
  } catch (error) {
    logger.warn({ error: errorText(error) }, "the schema of an MCP tool is not understood; only the server checks its arguments");
    return () => ({ valid: true });
  }
}
