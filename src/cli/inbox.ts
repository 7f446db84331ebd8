/** `mneme inbox`: why was there no answer? Every event with what became of it; what was said is not shown. */
import { GatewayError } from "../domain/errors.js";
import type { InboxRow } from "../ports/mailbox.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./failure.js";
import { clean, stamp, table } from "./layout.js";
import { inStores } from "./offline.js";

export interface InboxOptions {
  readonly chat?: string;
  readonly platform?: string;
  readonly limit?: string;
  readonly json?: boolean;
}

const maxLimit = 10_000;

export async function inbox(context: CliContext, options: InboxOptions): Promise<number> {
  const filter = {
    limit: limitOf(options.limit ?? "20"),
    ...(options.platform === undefined ? {} : { platform: options.platform }),
    ...(options.chat === undefined ? {} : { chatId: options.chat }),
  };
  const rows = await inStores(context, ({ stores }) => stores.inbox.list(filter));
  if (rows === undefined) return exitCodes.failed;
  const shown = rows.map(line);
  if (options.json === true) context.print(JSON.stringify(shown, null, 2));
  else if (shown.length === 0) context.print("Nothing has come in that fits. `mneme doctor` checks whether the platforms are set up.");
  else {
    const { timezone } = context.config();
    context.print(
      table(
        ["time", "platform", "chat", "who", "what", "became", "reason"],
        shown.map((one) => [stamp(one.at, timezone), one.platform, chatName(one), whoName(one), one.kind, became(one), one.reason ?? ""]),
      ),
    );
  }
  return exitCodes.ok;
}

function limitOf(given: string): number {
  const limit = Number(given);
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxLimit) return limit;
  throw new GatewayError("input.invalid", `--limit must be a whole number from 1 to ${maxLimit}, not "${clean(given)}".`);
}

type Line = ReturnType<typeof line>;

function line({ id, event, state, receivedAt, disposition, reason, repeats, turnId }: InboxRow) {
  return {
    id,
    at: receivedAt,
    platform: event.platform,
    chatId: event.chat.id,
    chatTitle: event.chat.title,
    chatKind: event.chat.kind,
    accountId: "account" in event ? event.account?.id : undefined,
    name: "account" in event ? event.account?.displayName : undefined,
    kind: event.kind,
    state,
    disposition,
    reason,
    repeats,
    turnId,
  };
}

function chatName({ chatId, chatTitle, chatKind }: Line): string {
  return chatTitle === undefined ? `${chatId} (${chatKind})` : `${chatTitle} (${chatId})`;
}

function whoName({ name, accountId }: Line): string {
  return accountId === undefined ? "-" : `${name ?? ""} (${accountId})`;
}

function became({ disposition, state, repeats }: Line): string {
  return `${disposition ?? state}${repeats > 0 ? ` (came ${repeats + 1} times)` : ""}`;
}
