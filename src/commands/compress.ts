/** /compress: has the older part of the conversation condensed. A job does it, so nobody waits; what stands behind the command is kept in particular. */
import type { Command } from "../gateway/commands.js";
import type { Session, Sessions } from "../ports/stores.js";
import { text } from "../words/catalogue.js";

export interface CompressDeps {
  readonly sessions: Pick<Sessions, "active">;
  /** False when there is nothing to condense. */
  readonly ask: (session: Session, asked: { readonly focus?: string }) => Promise<boolean>;
  /** After a job was stored. */
  readonly wake: () => void;
}

const focusLength = 80;

export function compressCommands({ sessions, ask, wake }: CompressDeps): Command[] {
  return [
    {
      name: "compress",
      help: "help.compress",
      who: "everybody",
      where: "anywhere",
      run: async ({ language, place, args }) => {
        const session = await sessions.active(place.key);
        const focus = args.trim().slice(0, focusLength);
        const begun = session !== undefined && (await ask(session, focus === "" ? {} : { focus }));
        if (begun) wake();
        return { markdown: text(language, begun ? "compress.begun" : "compress.nothing") };
      },
    },
  ];
}
