/** Files that came in, made readable for the model. Only the gateway process reads them, and only after the gate. */
import type { Attachment } from "../domain/message.js";
import type { UserEntry } from "../domain/transcript.js";
import type { Download } from "./platform-adapter.js";

/** An image on disk, as a user entry names it. */
export type StoredImage = NonNullable<UserEntry["images"]>[number];

/** What became of one file. Types are those of the content where it was fetched, else as the platform says. */
export type ReadFile =
  | { readonly is: "image"; readonly image: StoredImage; readonly size: number }
  /** A recording as text. */
  | { readonly is: "speech"; readonly text: string }
  | {
      readonly is: "document";
      readonly text: string;
      /** True when the file says more than `text`. */
      readonly isCut: boolean;
      readonly mimeType: string;
      readonly pages?: number;
    }
  /** Nothing that can be read here: known by name, type and size only. */
  | { readonly is: "named"; readonly mimeType?: string; readonly size?: number }
  | {
      readonly is: "failed";
      /**
       * too-large: not fetched, over `limit` bytes where that is set · not-the-file: something else came, a login page for example ·
       * unreadable: damaged, protected or without text · not-heard: the transcription failed · not-fetched: the platform does not hand it out.
       */
      readonly why: "too-large" | "not-the-file" | "unreadable" | "not-heard" | "not-fetched";
      readonly size?: number;
      readonly limit?: number;
    };

export interface MediaReader {
  /**
   * Fetches a file through `open` when something can be made of it, keeps it on disk and reads it. Never rejects: a failure is a
   * value, logged here. `owner`: the space it belongs to.
   */
  read(file: Attachment, owner: string, open: OpenFile, signal: AbortSignal): Promise<ReadFile>;
}

/** The adapter's `download` for one file. */
export type OpenFile = (maxBytes: number, signal: AbortSignal) => Promise<Download>;

export interface Recording {
  readonly bytes: Uint8Array;
  /** With the ending that fits the content: servers go by it. */
  readonly name: string;
  readonly mimeType: string;
}

export interface Transcriber {
  /** What is said in the recording; empty when nothing is. Rejects when the server does not answer with a text. */
  transcribe(recording: Recording, signal: AbortSignal): Promise<string>;
}
