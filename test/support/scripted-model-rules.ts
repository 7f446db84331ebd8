/**
 * What a strict OpenAI-compatible server refuses: the checks that real servers answer with a 400.
 * Stricter than some servers on purpose, so that a request which passes here passes everywhere.
 */

export interface WireToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface WireMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly WireToolCall[];
  readonly tool_call_id?: string;
  readonly [key: string]: unknown;
}

export interface WireTool {
  readonly type: string;
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: { readonly [key: string]: unknown };
  };
}

export interface WireRequest {
  readonly model: string;
  readonly messages: readonly WireMessage[];
  readonly tools?: readonly WireTool[];
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly tool_choice?: unknown;
  readonly [key: string]: unknown;
}

export interface Refusal {
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
}

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;
const roles = new Set(["system", "developer", "user", "assistant", "tool"]);

/** The text of a message, whether its content is a string or parts. */
export function messageText(message: WireMessage | undefined): string {
  const content = message?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (isRecord(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

/** Returns why the request breaks the protocol, or undefined when it is valid. */
export function refusal(body: unknown): Refusal | undefined {
  if (!isRecord(body)) return refuse("The body must be a JSON object.", null);
  if (typeof body["model"] !== "string" || body["model"] === "") return refuse("you must provide a model parameter", "model");
  if (!Array.isArray(body["messages"]) || body["messages"].length === 0) return refuse("[] is too short - 'messages'", "messages");
  return toolRefusal(body["tools"], body["tool_choice"]) ?? messagesRefusal(body["messages"]) ?? optionRefusal(body);
}

function optionRefusal(body: Record<string, unknown>): Refusal | undefined {
  if (body["stream_options"] !== undefined && body["stream"] !== true) {
    return refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options");
  }
  return undefined;
}

function toolRefusal(tools: unknown, choice: unknown): Refusal | undefined {
  if (tools === undefined)
    return choice === undefined ? undefined : refuse("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice");
  if (!Array.isArray(tools) || tools.length === 0) return refuse("[] is too short - 'tools'", "tools");
  const names = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    const at = `tools[${index}]`;
    const fn = isRecord(tool) && tool["type"] === "function" ? tool["function"] : undefined;
    if (!isRecord(fn)) return refuse(`Invalid value: '${at}' must be a function tool.`, at);
    const name = fn["name"];
    if (typeof name !== "string" || !namePattern.test(name))
      return refuse(`Invalid '${at}.function.name': must match ${namePattern.source}.`, at);
    if (names.has(name)) return refuse(`Duplicate tool name '${name}'.`, at);
    names.add(name);
    const bad = schemaFault(fn["parameters"]);
    if (bad !== undefined)
      return refuse(`Invalid schema for function '${name}': ${bad}`, `${at}.function.parameters`, "invalid_function_parameters");
  }
  return undefined;
}

function schemaFault(schema: unknown): string | undefined {
  if (schema === undefined) return undefined;
  if (!isRecord(schema)) return "schema must be an object";
  if (schema["type"] !== "object") return `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(schema["type"])}'`;
  for (const [key, value] of Object.entries(isRecord(schema["properties"]) ? schema["properties"] : {})) {
    if (!isRecord(value) && typeof value !== "boolean") return `property '${key}' is not a schema`;
    if (isRecord(value) && value["type"] === "array" && value["items"] === undefined) return `array schema missing items at '${key}'`;
  }
  return undefined;
}

function messagesRefusal(messages: readonly unknown[]): Refusal | undefined {
  const seen = new Set<string>();
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const at = `messages.[${index}]`;
    if (!isRecord(message) || typeof message["role"] !== "string" || !roles.has(message["role"])) {
      return refuse(`Invalid value for role at ${at}.`, `${at}.role`);
    }
    const wire = message as unknown as WireMessage;
    if (wire.role === "tool") {
      if (wire.tool_call_id === undefined || !open.delete(wire.tool_call_id)) {
        return refuse(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          `${at}.role`,
        );
      }
      if (typeof wire.content !== "string") return refuse(`Invalid type for '${at}.content'.`, `${at}.content`);
      continue;
    }
    if (open.size > 0) return unanswered(open, at);
    const bad = contentFault(wire, at) ?? callsFault(wire, at, seen);
    if (bad !== undefined) return bad;
    open = new Set((wire.tool_calls ?? []).map((call) => call.id));
  }
  return open.size > 0 ? unanswered(open, `messages.[${messages.length}]`) : undefined;
}

function unanswered(open: ReadonlySet<string>, at: string): Refusal {
  return refuse(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
    `${at}.role`,
  );
}

function contentFault(message: WireMessage, at: string): Refusal | undefined {
  const { content } = message;
  const mayBeEmpty = message.role === "assistant" && message.tool_calls !== undefined;
  if (content === null || content === undefined || content === "") {
    return mayBeEmpty ? undefined : refuse(`Invalid value for 'content': expected a non-empty string at ${at}.`, `${at}.content`);
  }
  if (typeof content === "string") {
    return loneSurrogate.test(content) ? refuse(`Invalid unicode in ${at}.content`, `${at}.content`) : undefined;
  }
  if (!Array.isArray(content) || content.length === 0) return refuse(`Invalid type for '${at}.content'.`, `${at}.content`);
  for (const part of content) {
    const known =
      isRecord(part) &&
      ((part["type"] === "text" && typeof part["text"] === "string") || (part["type"] === "image_url" && isRecord(part["image_url"])));
    if (!known) return refuse(`Invalid content part in ${at}.`, `${at}.content`);
  }
  return undefined;
}

const loneSurrogate = /\p{Surrogate}/u;

function callsFault(message: WireMessage, at: string, seen: Set<string>): Refusal | undefined {
  if (message.tool_calls === undefined) return undefined;
  if (message.role !== "assistant") return refuse(`'tool_calls' is only allowed for assistants at ${at}.`, `${at}.tool_calls`);
  if (!Array.isArray(message.tool_calls) || message.tool_calls.length === 0)
    return refuse(`[] is too short - '${at}.tool_calls'`, `${at}.tool_calls`);
  for (const call of message.tool_calls as readonly WireToolCall[]) {
    if (typeof call.id !== "string" || call.id === "" || call.type !== "function")
      return refuse(`Invalid tool call in ${at}.`, `${at}.tool_calls`);
    if (call.id.length > 40) return refuse(`Invalid '${at}.tool_calls.id': string too long, at most 40.`, `${at}.tool_calls`);
    if (seen.has(call.id)) return refuse(`Duplicate tool_call id '${call.id}'.`, `${at}.tool_calls`);
    seen.add(call.id);
    if (!namePattern.test(call.function.name)) return refuse(`Invalid '${at}.tool_calls.function.name'.`, `${at}.tool_calls`);
    if (typeof call.function.arguments !== "string")
      return refuse(`Invalid type for '${at}.tool_calls.function.arguments'.`, `${at}.tool_calls`);
  }
  return undefined;
}

function refuse(message: string, param: string | null, code: string | null = null): Refusal {
  return { message, param, code };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
