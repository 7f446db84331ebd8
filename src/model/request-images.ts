/** The images of a request, read from disk just before it is sent: what is kept in memory and in the store is their path alone. */
import type { Entry } from "../domain/transcript.js";
import type { Image } from "./model-request.js";

/** Looks images up by their file; none is found where none is to be shown or nothing reads them. */
export async function imagesOf(
  entries: readonly Entry[],
  isShown: boolean,
  read: ((image: Image) => Promise<string | undefined>) | undefined,
): Promise<(image: Image) => string | undefined> {
  const urls = new Map<string, string | undefined>();
  if (isShown && read !== undefined) {
    for (const entry of entries) {
      for (const image of entry.role === "user" ? (entry.images ?? []) : []) {
        if (!urls.has(image.file)) urls.set(image.file, await read(image));
      }
    }
  }
  return (image) => urls.get(image.file);
}
