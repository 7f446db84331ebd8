import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileType } from "../../../src/media/file-type.js";

const bytes = (latin: string): Uint8Array => Buffer.from(latin, "latin1");
const document = { kind: "document" } as const;

describe("what a file is", () => {
  it.each([
    ["\x89PNG\r\n\x1A\n....", "image", "image/png"],
    ["\xFF\xD8\xFF\xE0..JFIF", "image", "image/jpeg"],
    ["GIF89a....", "image", "image/gif"],
    ["RIFF....WEBPVP8 ", "image", "image/webp"],
    ["RIFF....WAVEfmt ", "sound", "audio/wav"],
    ["OggS....", "sound", "audio/ogg"],
    ["ID3\x04....", "sound", "audio/mpeg"],
    ["\xFF\xFB\x90\x44", "sound", "audio/mpeg"],
    ["%PDF-1.7\n", "pdf", "application/pdf"],
    ["PK\x03\x04....", "other", "application/zip"],
    ["\0\0\0\x18ftypheic", "other", "image/heic"],
    ["a,b\n1,2\n", "text", "text/plain"],
    ["BMW sells cars.", "text", "text/plain"],
    ["\x7FELF\x02\x01\x01\0", "other", "application/octet-stream"],
    ["caf\xE9 in Latin-1", "other", "application/octet-stream"],
  ])("is told by its first bytes: %j", (latin, as, mimeType) => {
    expect(fileType(bytes(latin), document)).toMatchObject({ as, mimeType });
  });

  it("does not believe a name or a type: a program called picture.png is no picture", () => {
    expect(fileType(bytes("MZ\x90\0\x03"), { kind: "image", mimeType: "image/png" }).as).toBe("other");
  });

  it("takes MP4 for sound only when sound is meant", () => {
    const mp4 = bytes("\0\0\0\x18ftypisom....");
    expect(fileType(mp4, { kind: "voice" })).toMatchObject({ as: "sound", ending: "m4a" });
    expect(fileType(mp4, { kind: "video" })).toMatchObject({ as: "other", mimeType: "video/mp4" });
  });

  it("takes a web page for a login page unless a web page was sent", () => {
    const page = bytes("\n<!DOCTYPE html><html>Sign in</html>");
    expect(fileType(page, { kind: "document", mimeType: "application/pdf" }).as).toBe("page");
    expect(fileType(page, { kind: "document", mimeType: "text/html" })).toMatchObject({ as: "text", mimeType: "text/html" });
  });

  it("knows text in any script, also when the head cuts a character", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }), fc.nat(3), (text, cut) => {
        const all = Buffer.from(`x${text.replaceAll(/\p{Cc}/gu, "")}`.repeat(40));
        const type = fileType(all.subarray(0, Math.max(1, Math.min(all.length, 4_096) - cut)), document);
        expect(type.as).toBe("text");
      }),
    );
  });
});
