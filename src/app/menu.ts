/** Remembers which command menu a platform has registered, so that it is sent only when it changed. */
import { createHash } from "node:crypto";
import type { CommandMenuEntry } from "../ports/platform-adapter.js";
import type { Overlay } from "../ports/stores.js";

export function menuState(
  overlay: Overlay,
  menu: readonly CommandMenuEntry[],
): {
  changed(platform: string): Promise<boolean>;
  registered(platform: string): Promise<void>;
} {
  const hash = createHash("sha256").update(JSON.stringify(menu)).digest("hex");
  const scope = (platform: string): string => `platform:${platform}`;
  return {
    changed: async (platform) => (await overlay.get(scope(platform), "menu")) !== hash,
    registered: (platform) => overlay.set(scope(platform), "menu", hash),
  };
}
