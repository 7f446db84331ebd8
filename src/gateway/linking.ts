/**
 * Two accounts of one person become one memory: a code from one side, used on the other, then an informed yes from BOTH. A code alone shares
 * nothing, so who talks somebody into sending one gains nothing. Roles and admission stay with each account.
 */
import { accountKey, type Speaker } from "../domain/identity.js";
import { errorText } from "../domain/errors.js";
import type { ButtonPress, Route } from "../domain/message.js";
import type { LinkingStore, LinkRequest, LinkSide, Union } from "../ports/linking.js";
import type { Clock, Logger } from "../ports/runtime.js";
import type { Access } from "../ports/access.js";
import { quoteName } from "../safety/fence.js";
import { text, type Language } from "../words/catalogue.js";
import type { Channels } from "./channels.js";
import type { CommandReply } from "./commands.js";
import type { Gate } from "./gate.js";
import { newCode } from "./pairing.js";
import type { Replies } from "./replies.js";
import { withoutReply } from "./routes.js";

export interface LinkingDeps {
  readonly store: LinkingStore;
  readonly access: Access;
  readonly gate: Gate;
  readonly channels: Channels;
  readonly replies: Replies;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mode: "self" | "operator" | "off";
  /** Brings the files of a union together. May be called again after a crash. Returns one line per file that could not take everything. */
  readonly join: (union: Union) => Promise<readonly { readonly file: string; readonly count: number }[]>;
  /** Gives a leaving account its files back. */
  readonly part: (parting: {
    readonly from: string;
    readonly to: string;
    readonly origin: { readonly personId: string; readonly stamp: string };
    readonly account: { readonly platform: string; readonly accountId: string };
  }) => Promise<readonly { readonly file: string; readonly count: number }[]>;
}

const answerMs = 600_000;
const operatorMs = 86_400_000;
const hourMs = 3_600_000;
const maxWrongTries = 5;
const retryMs = 300;
const minutes = answerMs / 60_000;

export class Linking {
  readonly #deps: LinkingDeps;
  #working = false;
  #stopped = false;

  constructor(deps: LinkingDeps) {
    this.#deps = deps;
  }

  /** Takes up unions that the last process did not finish. */
  start(): void {
    this.#carryOut();
  }

  stop(): void {
    this.#stopped = true;
  }

  /** `/link` without a code: shows one that works once. */
  async offer(speaker: Speaker, route: Route, language: Language): Promise<string> {
    const { store, clock, mode } = this.#deps;
    if (mode === "off") return text(language, "link.off");
    const now = clock.now();
    const code = newCode();
    await store.putCode({ code, side: sideOf(speaker, route, language), expiresAt: now + answerMs }, now);
    return text(language, "link.code", { code: `**${code}**`, minutes, link: `\`${this.#form(route.platform, "link")} ${code}\`` });
  }

  /** `/link CODE`: asks both sides; nothing is shared yet. */
  async use(typed: string, speaker: Speaker, route: Route, language: Language): Promise<CommandReply> {
    const { store, access, clock, mode } = this.#deps;
    const now = clock.now();
    const caller = `link:${accountKey(speaker.platform, speaker.accountId)}`;
    if (mode === "off") return { markdown: text(language, "link.off") };
    if ((await access.wrongTries(caller, now - hourMs)) >= maxWrongTries)
      return { markdown: text(language, "link.locked", { minutes: 60 }) };
    const code = await store.takeCode(typed.trim().toUpperCase(), now);
    if (code === undefined || !(await this.#admitted(code.side))) {
      await access.noteWrongTry(caller, now);
      await access.audit({ at: now, actor: caller.slice(5), act: "link-wrong-code", subject: "-" });
      return { markdown: text(language, "link.wrong", { link: `\`${this.#form(route.platform, "link")}\`` }) };
    }
    const from = code.side;
    const to = sideOf(speaker, route, language);
    if (keyOf(from) === keyOf(to)) return { markdown: text(language, "link.own") };
    if (await this.#isOne(from, to)) return { markdown: text(language, "link.same") };
    const expiresAt = now + (mode === "operator" ? operatorMs : answerMs);
    await store.putRequest({ id: code.code, state: "open", from, to, expiresAt }, now);
    await access.audit({ at: now, actor: keyOf(to), act: "link-asked", subject: keyOf(from) });
    await this.#ask(from, await this.#question(code.code, to, from.language));
    return this.#question(code.code, from, language, to.route.platform);
  }

  /** A yes or no from one side, by button or word. Undefined when nothing waits for this account's answer. */
  async answer(speaker: Speaker, yes: boolean, language: Language, id?: string): Promise<string | undefined> {
    const { store, clock, mode } = this.#deps;
    const now = clock.now();
    const request = await (id === undefined ? store.requestOf(speaker.platform, speaker.accountId, now) : store.requestById(id, now));
    const me = accountKey(speaker.platform, speaker.accountId);
    if (request === undefined || ![request.from, request.to].some((side) => keyOf(side) === me)) return undefined;
    const other = keyOf(request.from) === me ? request.to : request.from;
    if (!yes) {
      await store.drop(request.id);
      await this.#deps.replies.say(other.route, text(other.language, "link.cancelled"));
      return text(language, "link.cancelled");
    }
    const marked = await store.confirm(request.id, speaker, now);
    if (marked === undefined) return undefined;
    if (!marked.from.confirmed || !marked.to.confirmed) return text(language, "link.waiting");
    if (mode === "operator") {
      return text(language, "link.waiting-operator", { approve: `\`${this.#form(speaker.platform, "link")} approve ${request.id}\`` });
    }
    return this.#accept(marked, language);
  }

  /** An operator's word, where the settings ask for it. */
  async approve(id: string, language: Language): Promise<string> {
    const request = await this.#deps.store.requestById(id.trim().toUpperCase(), this.#deps.clock.now());
    if (request === undefined || !request.from.confirmed || !request.to.confirmed) return text(language, "link.nothing");
    return this.#accept(request, language);
  }

  async onButton(press: ButtonPress, speaker: Speaker, language: Language): Promise<string | undefined> {
    const [kind, verb, id = ""] = press.data.split(":");
    if (kind !== "link" || (verb !== "yes" && verb !== "no")) return undefined;
    const said = (await this.answer(speaker, verb === "yes", language, id)) ?? text(language, "link.nothing");
    await this.#deps.replies.say(withoutReply(press.route), said, "command");
    return undefined;
  }

  /** `/unlink`: this account stands by itself again. */
  async unlink(speaker: Speaker, language: Language): Promise<string> {
    const { store, access, clock } = this.#deps;
    const { platform, accountId, personId } = speaker;
    const origin = await store.originOf(platform, accountId);
    if (origin === undefined || (await access.accounts({ personId })).length < 2) return text(language, "unlink.none");
    const parted = await store.part(platform, accountId, clock.now());
    if (parted === undefined) return text(language, "unlink.busy");
    const overflow = await this.#deps.part({ ...parted, account: { platform, accountId } });
    return [text(language, "unlink.done"), ...overflow.map((one) => text(language, "link.overflow", one))].join("\n\n");
  }

  async #accept(request: LinkRequest, language: Language): Promise<string> {
    if (!(await this.#admitted(request.from)) || !(await this.#admitted(request.to))) {
      await this.#deps.store.drop(request.id);
      return text(language, "link.cancelled");
    }
    await this.#deps.store.accept(request.id);
    this.#carryOut();
    return text(language, "link.linking");
  }

  /** Unites what waits; tries again while somebody of them writes. */
  #carryOut(): void {
    if (this.#working || this.#stopped) return;
    this.#working = true;
    const { clock, logger } = this.#deps;
    this.#uniteAll()
      .catch((error: unknown) => {
        logger.error({ error: errorText(error) }, "accounts could not be linked yet; trying again");
        return true;
      })
      .then(
        (again) => {
          this.#working = false;
          if (again) clock.after(retryMs, () => this.#carryOut());
        },
        (error: unknown) => logger.error({ error: errorText(error) }, "linking stopped"),
      );
  }

  /** True when something is left to do. */
  async #uniteAll(): Promise<boolean> {
    const { store, clock } = this.#deps;
    let left = false;
    for (const request of await store.merging()) {
      const union = await store.unite(request.id, clock.now());
      if (union === undefined) {
        left = true;
        continue;
      }
      const overflow = await this.#deps.join(union);
      await store.finish(request.id, clock.now());
      await this.#tell(union, overflow);
    }
    return left;
  }

  async #tell(union: Union, overflow: readonly { readonly file: string; readonly count: number }[]): Promise<void> {
    const accounts = union.sides.map(keyOf).join(", ");
    for (const side of union.sides) {
      const { language } = side;
      const unlink = `\`${this.#form(side.platform, "unlink")}\``;
      const lines = [text(language, "link.done", { accounts, unlink }), ...overflow.map((one) => text(language, "link.overflow", one))];
      await this.#deps.replies.say(side.route, lines.join("\n\n"));
    }
  }

  async #ask(side: LinkSide, question: CommandReply): Promise<void> {
    await this.#deps.replies.ask(side.route, question.markdown, question.buttons ?? []);
  }

  /** What one side is asked about the other. `platform`: where it is asked. */
  async #question(id: string, other: LinkSide, language: Language, platform?: string): Promise<CommandReply> {
    const account = await this.#deps.access.account(other.platform, other.accountId);
    const handle = account?.handle === undefined ? "–" : `@${quoteName(account.handle)}`;
    const markdown = text(language, "link.ask", {
      name: `**${quoteName(account?.displayName ?? "?")}**`,
      handle,
      account: `\`${keyOf(other)}\``,
      confirm: "`confirm`",
      cancel: "`cancel`",
      minutes,
    });
    const buttons = [
      { label: text(language, "link.confirm-button"), data: `link:yes:${id}` },
      { label: text(language, "link.cancel-button"), data: `link:no:${id}` },
    ];
    const can = platform === undefined || this.#deps.channels.get(platform)?.adapter.capabilities.buttons !== false;
    return can ? { markdown, buttons } : { markdown };
  }

  async #admitted(side: LinkSide): Promise<boolean> {
    const account = await this.#deps.access.account(side.platform, side.accountId);
    const role = account === undefined ? undefined : this.#deps.gate.roleOf(account);
    return role === "user" || role === "operator";
  }

  async #isOne(a: LinkSide, b: LinkSide): Promise<boolean> {
    const { access } = this.#deps;
    const [one, other] = await Promise.all([access.account(a.platform, a.accountId), access.account(b.platform, b.accountId)]);
    return one !== undefined && one.personId === other?.personId;
  }

  #form(platform: string, command: string): string {
    return this.#deps.channels.commandText(platform, command);
  }
}

function keyOf(side: { readonly platform: string; readonly accountId: string }): string {
  return accountKey(side.platform, side.accountId);
}

function sideOf(speaker: Speaker, route: Route, language: Language): LinkSide {
  const { platform, accountId, personId } = speaker;
  return { platform, accountId, personId, route: withoutReply(route), confirmed: false, language };
}
