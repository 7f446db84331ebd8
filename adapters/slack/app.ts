/**
 * The library's App with one global listener: every kind of payload goes the same way. It only sorts and authorises;
 * receivers are made apart from it, and errors go back to them, so that they do not acknowledge.
 */
import type { App } from "@slack/bolt";
import type { Logger } from "../../src/ports/runtime.js";
import { boltLogger, type BoltModule } from "./bolt.js";
import { asFields, fieldsOf, type Fields } from "./fields.js";
import type { Self } from "./place.js";

export interface AppDeps {
  readonly bolt: BoltModule;
  readonly botToken: string;
  readonly apiUrl: string;
  readonly self: Self;
  readonly logger: Logger;
  /** Resolves when the payload is stored or knowingly dropped. */
  readonly take: (body: Fields) => Promise<void>;
  /** The app was uninstalled or its tokens were revoked. */
  readonly onRemoved: () => void;
}

export function buildApp(deps: AppDeps): App {
  const { bolt, botToken, apiUrl, self, logger } = deps;
  const app = new bolt.App({
    // The real receiver is made per connection; the App must have one.
    receiver: { init: () => undefined, start: () => Promise.resolve(), stop: () => Promise.resolve() },
    token: botToken,
    botUserId: self.userId,
    botId: self.botId ?? self.userId,
    tokenVerificationEnabled: false,
    ignoreSelf: false,
    convoStore: false,
    logger: boltLogger(bolt, logger),
    clientOptions: { slackApiUrl: apiUrl, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true },
  });
  app.use(async ({ body }) => {
    const fields = asFields(body) ?? {};
    const type = fieldsOf(fields, "event")["type"];
    if (type === "app_uninstalled" || type === "tokens_revoked") deps.onRemoved();
    else await deps.take(fields);
  });
  app.error((error) => Promise.reject(error));
  return app;
}
