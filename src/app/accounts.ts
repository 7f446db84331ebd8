/**
 * Linked accounts, profiles in groups and being forgotten, wired over all that holds something of a person: database, memory files, skills, the
 * external memory.
 */
import type { GatewayConfig } from "../../config/schema.js";
import { personCommands } from "../commands/people.js";
import { stopTurns } from "../commands/conversation.js";
import { accountKey, isGroup, type Speaker } from "../domain/identity.js";
import type { ButtonPress, InboundMessage } from "../domain/message.js";
import type { Channels } from "../gateway/channels.js";
import type { Command } from "../gateway/commands.js";
import type { Gate } from "../gateway/gate.js";
import type { Lanes } from "../gateway/lanes.js";
import { Linking } from "../gateway/linking.js";
import { Profiles, profileText } from "../gateway/profiles.js";
import type { Replies } from "../gateway/replies.js";
import { removeFolders, removeImages } from "../memory/forget-files.js";
import { joinFiles, keepOriginals, partFiles } from "../memory/join-files.js";
import type { Author } from "../memory/memory-files.js";
import { renderSnapshot } from "../memory/snapshot.js";
import type { Clock, Ids, Logger } from "../ports/runtime.js";
import type { Session, TurnRow } from "../ports/stores.js";
import { copySkills } from "../skills/join-files.js";
import type { Database } from "../storage/database.js";
import { forgetPerson } from "../storage/forgetting.js";
import { createLinkingStore } from "../storage/linking.js";
import type { Stores } from "../storage/stores.js";
import { languageOf, type Language } from "../words/catalogue.js";
import type { Features } from "./features.js";
import type { ExternalMemory } from "./provider.js";

export interface AccountsDeps {
  readonly config: GatewayConfig;
  readonly db: Database;
  readonly stores: Stores;
  readonly features: Features;
  readonly external: Pick<ExternalMemory, "people">;
  readonly gate: Gate;
  readonly channels: Channels;
  readonly replies: Replies;
  readonly lanes: () => Lanes;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

export interface Accounts {
  readonly commands: readonly Command[];
  readonly onButton: (press: ButtonPress, speaker: Speaker) => Promise<string | undefined>;
  readonly onWord: (event: InboundMessage, speaker: Speaker, language: Language) => Promise<string | undefined>;
  /** The speaker's own profile beside their message in a group, where they want it. */
  readonly profile: (session: Session, turn: TurnRow) => Promise<string | undefined>;
  start(): void;
  stop(): void;
}

const yesWords: ReadonlySet<string> = new Set(["confirm", "确认", "確認"]);
const noWords: ReadonlySet<string> = new Set(["cancel", "取消"]);
const byCommand: Author = { origin: "command", guard: { none: true } };

export function buildAccounts(deps: AccountsDeps): Accounts {
  const { config, db, stores, features, gate, channels, replies, clock, ids, logger } = deps;
  const { memory, skills } = features;
  const store = createLinkingStore({ db, ids });
  const profiles = new Profiles({ overlay: stores.overlay, rule: config.memory.userProfileEnabled ? config.groups.speakerProfile : "off" });
  const linking = new Linking({
    store,
    access: stores.access,
    gate,
    channels,
    replies,
    clock,
    logger,
    mode: config.access.linking,
    join: async (union) => {
      if (union.keep === union.gone) return [];
      for (const id of [union.keep, union.gone]) keepOriginals(memory, id, union.stamp);
      const overflow = await joinFiles(memory, union, byCommand);
      const left = await copySkills(skills.files, personSpace(union.gone), personSpace(union.keep), byCommand);
      if (left.length > 0) logger.warn({ skills: left, space: union.gone }, "skills that could not be copied stay in their old folder");
      await deps.external.people?.link(union.keep, union.gone);
      return overflow;
    },
    part: async ({ from, to, origin, account }) => {
      const overflow = await partFiles(
        memory,
        { from, to, origin, accountKey: accountKey(account.platform, account.accountId) },
        byCommand,
      );
      if (to !== origin.personId) {
        const own = await skillsOf(deps, from, accountKey(account.platform, account.accountId));
        await copySkills(skills.files, personSpace(from), personSpace(to), byCommand, (name) => own.has(name));
      }
      const sessions = await stores.sessions.list(to, 10_000);
      await deps.external.people?.unlink({ stays: from, leaves: to, was: origin.personId, sessionIds: sessions.map(({ id }) => id) });
      return overflow;
    },
  });
  return {
    commands: personCommands({
      linking,
      profiles,
      clock,
      stop: (context) => stopTurns({ lanes: deps.lanes(), inbox: stores.inbox }, context),
      forget: async (personId) => {
        // While accounts and transcripts are still there: they say where the person spoke.
        await deps.external.people?.forgetPerson(personId);
        const forgotten = await forgetPerson(db, personId);
        if (forgotten === undefined) return false;
        removeFolders(memory, forgotten.ids);
        removeImages(config.data.dir, forgotten.files);
        for (const id of forgotten.ids) await skills.files.log.forgetSpace(id);
        return true;
      },
    }),
    onButton: (press, speaker) => linking.onButton(press, speaker, languageOf(config.ui.language, [])),
    onWord: async (event, speaker, language) => {
      const word = event.text.trim().toLowerCase();
      if (isGroup(event.chat.kind) || !(yesWords.has(word) || noWords.has(word))) return undefined;
      return linking.answer(speaker, yesWords.has(word), language);
    },
    profile: async (session, { speaker }) => {
      if (session.spaceKind !== "group" || !(await profiles.isOn(speaker, session.spaceId))) return undefined;
      const owner = { target: "user", id: speaker.personId } as const;
      const snapshot = renderSnapshot({ user: { text: memory.read(owner), limit: memory.limit(owner) } });
      for (const left of snapshot.leftOut) logger.warn(left, "a memory entry is left out of the profile; it stays in its file");
      return profileText(snapshot.text);
    },
    start: () => linking.start(),
    stop: () => linking.stop(),
  };
}

function personSpace(id: string): { readonly id: string; readonly kind: "person" } {
  return { id, kind: "person" };
}

/** Skills of a space that this account made. */
async function skillsOf({ features }: AccountsDeps, spaceId: string, key: string): Promise<Set<string>> {
  const events = await features.skills.files.events({ scope: "space", id: spaceId }, 10_000);
  return new Set(events.filter((event) => event.action === "create" && event.accountKey === key).map((event) => event.skill));
}
