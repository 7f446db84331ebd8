/** The part of the scripted model's server that writes recordings down: strict about the form, as OpenAI's is. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { sendError } from "./scripted-model-reply.js";

export interface HeardRecording {
  readonly model: string;
  readonly name: string;
  readonly type: string;
  readonly bytes: Buffer;
}

/** What is said in a recording, or the status to refuse it with. */
export type Hear = (recording: HeardRecording) => string | number;

const endings = /\.(flac|mp3|mp4|mpeg|mpga|m4a|ogg|wav|webm)$/;

/** Answers `POST /v1/audio/transcriptions`; every accepted recording is added to `heard`. */
export async function transcribe(request: IncomingMessage, response: ServerResponse, hear: Hear, heard: HeardRecording[]): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers = { "content-type": request.headers["content-type"] ?? "" };
  const form = await new Response(Buffer.concat(chunks), { headers }).formData();
  const [model, file] = [form.get("model"), form.get("file")];
  if (typeof model !== "string" || model === "") {
    return sendError(response, 400, { message: "you must provide a model parameter", code: null, param: "model" });
  }
  if (file === null || typeof file === "string" || !endings.test(file.name)) {
    return sendError(response, 400, { message: "Unrecognized file format.", code: null, param: "file" });
  }
  const recording = { model, name: file.name, type: file.type, bytes: Buffer.from(await file.arrayBuffer()) };
  heard.push(recording);
  const said = hear(recording);
  if (typeof said === "number") return sendError(response, said, { message: "the recording is refused", code: null, param: null });
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ text: said }));
}
