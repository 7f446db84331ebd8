/**
 * The text of a PDF file, read in a thread of its own: a heavy or hostile file costs neither the event loop nor, beyond a limit, memory.
 * The library (1.7 MB) is loaded there, with the first PDF.
 */
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import type { getDocumentProxy } from "unpdf";

export interface PdfText {
  readonly text: string;
  readonly pages: number;
  readonly isCut: boolean;
}

/** What the thread needs of the library, so that a version without it does not compile. */
const entry: keyof { readonly getDocumentProxy: typeof getDocumentProxy } = "getDocumentProxy";
const limitMs = 30_000;
const memoryMb = 512;
/** PDFs that are read at the same time, in the whole process. */
const places = 2;

const threadCode = `
const { parentPort, workerData } = require("node:worker_threads");
const { readFileSync } = require("node:fs");
const library = require(workerData.library);
async function read() {
  const pdf = await library[workerData.entry](new Uint8Array(readFileSync(workerData.file)), { verbosity: 0 });
  const pages = [];
  let length = 0;
  let at = 1;
  for (; at <= pdf.numPages && length <= workerData.maxChars; at += 1) {
    const { items } = await (await pdf.getPage(at)).getTextContent();
    const text = items.map((item) => (item.str ?? "") + (item.hasEOL ? "\\n" : "")).join("").trim();
    pages.push(text);
    length += text.length + 2;
  }
  const text = pages.filter((page) => page !== "").join("\\n\\n");
  return { text: text.slice(0, workerData.maxChars), pages: pdf.numPages, isCut: text.length > workerData.maxChars || at <= pdf.numPages };
}
read().then((result) => parentPort.postMessage({ result }), (error) => parentPort.postMessage({ error: String(error?.name ?? "Error") }));
`;

export class PdfReader {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** At most `maxChars` characters. Rejects when the file is damaged, protected or takes too long, and on abort. Blank text: a scan. */
  async read(file: string, maxChars: number, signal: AbortSignal): Promise<PdfText> {
    if (this.#running >= places) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await readInThread(file, maxChars, signal);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

function readInThread(file: string, maxChars: number, signal: AbortSignal): Promise<PdfText> {
  const library = createRequire(import.meta.url).resolve("unpdf");
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const thread = new Worker(threadCode, {
      eval: true,
      workerData: { library, entry, file, maxChars },
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      stdout: true,
      stderr: true,
    });
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      settle();
      void thread.terminate();
    };
    const stop = (): void => end(() => reject(new Error("stopped")));
    const timer = setTimeout(() => end(() => reject(new Error(`not read within ${limitMs} ms`))), limitMs);
    timer.unref();
    signal.addEventListener("abort", stop, { once: true });
    thread.once("message", (answer: { readonly result?: PdfText; readonly error?: string }) => {
      end(() => (answer.result === undefined ? reject(new Error(answer.error)) : resolve(answer.result)));
    });
    thread.once("error", (error) => end(() => reject(error)));
    thread.once("exit", (code) => end(() => reject(new Error(`the thread ended with ${code}`))));
  });
}
