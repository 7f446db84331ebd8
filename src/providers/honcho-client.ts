/**
 * The one importer of @honcho-ai/sdk. Its client keeps its first request for ever, also when that fails or hangs, so a client is
 * kept only once a call on it went well; its calls cannot be aborted, so the guard's deadline is what ends a wait.
 */
import type { Honcho, Peer, Session } from "@honcho-ai/sdk";
import { ConfigError } from "../domain/errors.js";
import { providerError } from "./failure.js";

export type { Honcho, Peer } from "@honcho-ai/sdk";
export type SessionPeers = Parameters<Session["addPeers"]>[0];

export interface HonchoSettings {
  readonly apiKey?: string | undefined;
  readonly baseUrl: string;
  readonly workspace: string;
}

/** The SDK's own limit for one request; the guard's deadlines are shorter where it matters, ms. */
const requestMs = 60_000;

export class HonchoClient {
  readonly #settings: HonchoSettings;
  #client: Honcho | undefined;

  constructor(settings: HonchoSettings) {
    this.#settings = settings;
  }

  /** Runs calls on the client; any failure comes out as GatewayError. */
  async use<T>(work: (client: Honcho) => Promise<T>): Promise<T> {
    const client = this.#client ?? (await this.#make());
    try {
      const result = await work(client);
      this.#client = client;
      return result;
    } catch (error) {
      if (this.#client === client) this.#client = undefined;
      throw providerError("honcho", error);
    }
  }

  peer<T>(id: string, work: (peer: Peer) => Promise<T>): Promise<T> {
    return this.use(async (client) => work(await client.peer(id)));
  }

  session<T>(id: string, peers: SessionPeers, work: (session: Session) => Promise<T>): Promise<T> {
    return this.use(async (client) => work(await client.session(id, { peers })));
  }

  async #make(): Promise<Honcho> {
    const { apiKey, baseUrl, workspace } = this.#settings;
    const sdk = await import("@honcho-ai/sdk").catch((cause: unknown) => {
      throw new ConfigError(
        "config.invalid",
        "memory.provider is honcho, but its client is not installed. Run: npm install @honcho-ai/sdk@2.5.0",
        { cause },
      );
    });
    const key = apiKey === undefined ? {} : { apiKey };
    return new sdk.Honcho({ baseURL: baseUrl, workspaceId: workspace, timeout: requestMs, maxRetries: 0, ...key });
  }
}
