/**
 * Model request → the body of a chat completion. The trap: providers cache by bytes, so equal entries must give equal
 * bytes and a longer history must only add to them; nothing here may depend on time, on the number of entries or on order of arrival.
 */
import type { AssistantEntry, Entry, UserEntry } from "../domain/transcript.js";
import type { ModelRequest, ToolSchema } from "../ports/chat-model.js";

export interface WireOptions {
  readonly temperature?: number;
  readonly maxOutputTokens?: number;
  /**
   * Sends the stored reasoning of messages with tool calls back, in every later request (also where there is none: the field itself is asked
   * for). Only for servers that want it: DeepSeek's thinking mode answers 400 without (api-docs.deepseek.com/guides/thinking_mode), others refuse it.
   */
  readonly sendReasoning?: boolean;
  /** A stored image as a data URL. Without it, or when it gives undefined, the message says that an image was left out. */
  readonly imageUrl?: (image: Image) => string | undefined;
}

/** Optional fields a server may refuse; each is left out (or renamed) after its first refusal. */
export type OptionalField = "stream_options" | "temperature" | "max_tokens" | "max_completion_tokens";

/** True when the body carries at least one picture. */
export function showsImages(body: object): boolean {
  const messages = "messages" in body ? (body as WireBody).messages : [];
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some((part: { readonly type: string }) => part.type === "image_url"),
  );
}

export type Image = NonNullable<UserEntry["images"]>[number];

type WireContent =
  | string
  | null
  | readonly (
      | { readonly type: "text"; readonly text: string }
      | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
    )[];

export interface WireMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: WireContent;
  readonly tool_calls?: readonly object[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string;
}

export interface WireBody {
  readonly model: string;
  readonly tools?: readonly object[];
  readonly messages: readonly WireMessage[];
  readonly stream: true;
  readonly [field: string]: unknown;
}

/**
 * The body to send. Keys come in the order model, tools, messages, rest, so that the bytes of a request of the same session
 * begin with those of the request before it up to the end of the last common message.
 */
export function requestBody(request: ModelRequest, options: WireOptions, refused: ReadonlySet<OptionalField>): WireBody {
  const limit = request.maxOutputTokens ?? options.maxOutputTokens;
  const limitField = refused.has("max_tokens") ? "max_completion_tokens" : "max_tokens";
  return {
    model: request.model,
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(wireTool) }),
    messages: wireMessages(request, options),
    stream: true,
    ...(refused.has("stream_options") ? {} : { stream_options: { include_usage: true } }),
    ...(options.temperature === undefined || refused.has("temperature") ? {} : { temperature: options.temperature }),
    ...(limit === undefined || refused.has(limitField) ? {} : { [limitField]: limit }),
  };
}

function wireTool(tool: ToolSchema): object {
  return {
    type: "function",
    function: { name: tool.name, description: tool.description, parameters: tool.parameters },
  };
}

function wireMessages(request: ModelRequest, options: WireOptions): WireMessage[] {
  const messages: WireMessage[] = [];
  if (request.system !== "") messages.push({ role: "system", content: wellFormed(request.system) });
  const lastUser = request.entries.findLastIndex((entry) => entry.role === "user");
  for (const [index, entry] of request.entries.entries()) {
    messages.push(wireMessage(entry, index === lastUser ? request.tail : undefined, options));
  }
  return messages;
}

function wireMessage(entry: Entry, tail: string | undefined, options: WireOptions): WireMessage {
  if (entry.role === "user") return { role: "user", content: userContent(entry, tail, options) };
  if (entry.role === "assistant") return assistantMessage(entry, options);
  return { role: "tool", tool_call_id: entry.callId, content: wellFormed(entry.content) };
}

function userContent(entry: UserEntry, tail: string | undefined, options: WireOptions): WireContent {
  const text = wellFormed(tail === undefined || tail === "" ? entry.content : `${entry.content}\n\n${tail}`);
  if (entry.images === undefined || entry.images.length === 0) return text;
  const images = entry.images.map((image) => {
    const url = options.imageUrl?.(image);
    if (url === undefined) return { type: "text" as const, text: "[an image that cannot be shown]" };
    return { type: "image_url" as const, image_url: { url } };
  });
  return text === "" ? images : [{ type: "text", text }, ...images];
}

function assistantMessage(entry: AssistantEntry, options: WireOptions): WireMessage {
  const calls = entry.toolCalls ?? [];
  const reasoning = options.sendReasoning === true && calls.length > 0 ? (entry.reasoning ?? "") : undefined;
  return {
    role: "assistant",
    content: entry.content === "" && calls.length > 0 ? null : wellFormed(entry.content),
    ...(reasoning === undefined ? {} : { reasoning_content: wellFormed(reasoning) }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map((call) => ({
            id: call.id,
            type: "function",
            function: { name: call.name, arguments: wellFormed(call.arguments) },
          })),
        }),
  };
}

/** Half a surrogate pair (text cut by a platform or a limit) makes several servers refuse the whole request. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD");
}
