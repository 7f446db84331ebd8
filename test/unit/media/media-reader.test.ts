import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { GatewayError } from "../../../src/domain/errors.js";
import type { Attachment } from "../../../src/domain/message.js";
import { MediaFiles } from "../../../src/media/media-files.js";
import { createMediaReader } from "../../../src/media/media-reader.js";
import type { OpenFile, Transcriber } from "../../../src/ports/media.js";
import { pdfOf } from "../../support/pdf.js";
import { collectingLogger } from "../../support/runtime.js";

const dayMs = 86_400_000;
const start = Date.UTC(2026, 0, 10, 12);

function setup(options: { readonly maxBytes?: number; readonly maxChars?: number; readonly transcriber?: Transcriber } = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), "mneme-media-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  let now = start;
  let made = 0;
  const clock = { now: () => now, after: () => () => undefined };
  const files = new MediaFiles({ dataDir, clock, ids: { next: () => `f${(made += 1)}` } });
  const reader = createMediaReader({
    files,
    transcriber: options.transcriber,
    maxBytes: options.maxBytes ?? 1_000_000,
    maxChars: options.maxChars ?? 40_000,
    clock,
    logger: collectingLogger(),
  });
  return {
    files,
    stored: () => readdirSync(dataDir, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".bin")),
    dataDir,
    pass: (days: number) => void (now += days * dayMs),
    read: (file: Partial<Attachment>, content: Buffer | OpenFile, signal = new AbortController().signal) =>
      reader.read(
        { kind: "document", name: "file", ref: null, ...file },
        "space1",
        typeof content === "function" ? content : () => Promise.resolve({ bytes: chunks(content), mimeType: undefined, size: undefined }),
        signal,
      ),
  };
}

async function* chunks(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 1_000) yield await Promise.resolve(content.subarray(at, at + 1_000));
}

const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1A\n", "latin1"), Buffer.alloc(3_000, 1)]);

describe("reading a file that came in", () => {
  it("keeps an image on disk for its owner alone and shows it as it came", async () => {
    const given = setup();
    const read = await given.read({ kind: "image", mimeType: "image/jpeg" }, png);
    if (read.is !== "image") throw new Error("no image");

    expect(read.image).toEqual({ type: "image", mimeType: "image/png", file: "media/2026-01-10/space1/f1.bin" });
    expect(statSync(join(given.dataDir, read.image.file)).mode & 0o777).toBe(0o600);
    expect(await given.files.dataUrl(read.image)).toBe(`data:image/png;base64,${png.toString("base64")}`);
  });

  it("removes files after their days and then shows no image, once and for all", async () => {
    const given = setup();
    const read = await given.read({ kind: "image" }, png);
    if (read.is !== "image") throw new Error("no image");
    given.pass(7);
    expect(await given.files.sweep(7)).toBe(0);
    expect(await given.files.dataUrl(read.image)).toBeDefined();
    given.pass(1);
    expect(await given.files.sweep(7)).toBe(1);
    expect(await given.files.dataUrl(read.image)).toBeUndefined();
    expect(given.stored()).toEqual([]);
  });

  it("reads no file outside of its folder, whatever a stored entry says", async () => {
    const { files } = setup();
    for (const file of ["mneme.db", "media/../mneme.db", "/etc/passwd", "media/2026-01-10/../../x.bin"]) {
      expect(await files.dataUrl({ type: "image", mimeType: "image/png", file })).toBeUndefined();
    }
  });

  it("asks for nothing when the platform already says that a file is too large", async () => {
    let asked = 0;
    const open: OpenFile = () => {
      asked += 1;
      return Promise.reject(new Error("must not be asked"));
    };
    const given = setup({ maxBytes: 5_000 });
    expect(await given.read({ size: 5_001 }, open)).toEqual({ is: "failed", why: "too-large", size: 5_001, limit: 5_000 });
    expect(asked).toBe(0);
  });

  it("stops in the middle of a file that is larger than the platform said, and leaves nothing behind", async () => {
    const given = setup({ maxBytes: 5_000 });
    expect(await given.read({ size: 100 }, Buffer.alloc(20_000, 65))).toMatchObject({ is: "failed", why: "too-large" });
    expect(given.stored()).toEqual([]);
  });

  it("fetches neither a video nor, where nobody writes it down, a recording", async () => {
    const open: OpenFile = () => Promise.reject(new Error("must not be asked"));
    const given = setup();
    expect(await given.read({ kind: "video", mimeType: "video/mp4", size: 9 }, open)).toEqual({
      is: "named",
      mimeType: "video/mp4",
      size: 9,
    });
    expect(await given.read({ kind: "voice", mimeType: "audio/ogg" }, open)).toEqual({ is: "named", mimeType: "audio/ogg" });
    expect(await given.read({ mimeType: "application/zip" }, open)).toEqual({ is: "named", mimeType: "application/zip" });
  });

  it("says which failure it was, by its code", async () => {
    const given = setup();
    const refuse =
      (code: "download.wrong-type" | "download.failed" | "download.too-large"): OpenFile =>
      () =>
        Promise.reject(new GatewayError(code, "no"));
    expect(await given.read({}, refuse("download.wrong-type"))).toEqual({ is: "failed", why: "not-the-file" });
    expect(await given.read({}, refuse("download.failed"))).toEqual({ is: "failed", why: "not-fetched" });
    expect(await given.read({ size: 10 }, refuse("download.too-large"))).toEqual({ is: "failed", why: "too-large", size: 10 });
    expect(await given.read({}, Buffer.from("<html>Sign in</html>"))).toEqual({ is: "failed", why: "not-the-file" });
  });

  it("keeps nothing of a document or recording once it is read", async () => {
    const given = setup({ transcriber: { transcribe: () => Promise.resolve("Hello.") } });
    for (const content of [
      Buffer.from("words"),
      pdfOf(["words"]),
      Buffer.from("OggS1234"),
      Buffer.from("%PDF-broken"),
      Buffer.from("PK\x03\x04"),
    ]) {
      await given.read({ kind: "document" }, content);
    }
    expect(given.stored()).toEqual([]);
  });

  it("never rejects when the turn is stopped", async () => {
    const given = setup();
    const stopped = AbortSignal.abort();
    expect(await given.read({}, Buffer.alloc(100, 65), stopped)).toMatchObject({ is: "failed" });
  });

  it("gives a text whole, or its beginning", async () => {
    const given = setup({ maxChars: 10 });
    expect(await given.read({}, Buffer.from("naïve 言葉"))).toEqual({
      is: "document",
      text: "naïve 言葉",
      isCut: false,
      mimeType: "text/plain",
    });
    expect(await given.read({}, Buffer.from("言葉".repeat(500)))).toMatchObject({
      is: "document",
      text: "言葉言葉言葉言葉言葉",
      isCut: true,
    });
    const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("grüß", "utf16le")]);
    expect(await given.read({}, utf16)).toMatchObject({ is: "document", text: "grüß", isCut: false });
  });

  it("reads a PDF page by page up to the limit", async () => {
    const given = setup({ maxChars: 25 });
    expect(await given.read({}, pdfOf(["First page.", "Second page."]))).toEqual({
      is: "document",
      text: "First page.\n\nSecond page.",
      isCut: false,
      pages: 2,
      mimeType: "application/pdf",
    });
    expect(await given.read({}, pdfOf(["A page that is much too long.", "Never seen."]))).toMatchObject({
      text: "A page that is much too l",
      isCut: true,
      pages: 2,
    });
  });

  it("calls a scan and a damaged PDF unreadable", async () => {
    const given = setup();
    expect(await given.read({}, pdfOf(["", ""]))).toMatchObject({ is: "failed", why: "unreadable" });
    expect(await given.read({}, Buffer.from("%PDF-1.7 nothing more"))).toMatchObject({ is: "failed", why: "unreadable" });
  });

  it("hands a recording on under a name that fits its content", async () => {
    const heard: string[] = [];
    const transcriber: Transcriber = {
      transcribe: (recording) => {
        heard.push(`${recording.name} ${recording.mimeType} ${recording.bytes.length}`);
        return Promise.resolve(" Hello. \n");
      },
    };
    const given = setup({ transcriber });
    expect(await given.read({ kind: "voice", name: "../../x.exe" }, Buffer.from("OggS1234"))).toEqual({ is: "speech", text: "Hello." });
    expect(heard).toEqual(["recording.ogg audio/ogg 8"]);
    const silent = setup({ transcriber: { transcribe: () => Promise.resolve("  ") } });
    expect(await silent.read({ kind: "voice" }, Buffer.from("OggS1234"))).toMatchObject({ is: "failed", why: "not-heard" });
  });
});
