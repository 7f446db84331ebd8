/** The one importer of supermemory. The SDK's own retries are off: the job decides when something is sent again. */
import type Supermemory from "supermemory";
import { ConfigError } from "../domain/errors.js";
import { providerError } from "./failure.js";

export type { default as Supermemory } from "supermemory";

export interface SupermemorySettings {
  readonly apiKey: string;
  readonly baseUrl: string;
}

const requestMs = 60_000;

export class SupermemoryClient {
  readonly #settings: SupermemorySettings;
  #client: Supermemory | undefined;

  constructor(settings: SupermemorySettings) {
    this.#settings = settings;
  }

  /** Runs calls on the client; any failure comes out as GatewayError. */
  async use<T>(work: (client: Supermemory) => Promise<T>): Promise<T> {
    this.#client ??= await this.#make();
    try {
      return await work(this.#client);
    } catch (error) {
      throw providerError("supermemory", error);
    }
  }

  async #make(): Promise<Supermemory> {
    const { apiKey, baseUrl } = this.#settings;
    const sdk = await import("supermemory").catch((cause: unknown) => {
      throw new ConfigError(
        "config.invalid",
        "memory.provider is supermemory, but its client is not installed. Run: npm install supermemory@4.25.4",
        { cause },
      );
    });
    return new sdk.default({ apiKey, baseURL: baseUrl, timeout: requestMs, maxRetries: 0, logLevel: "off" });
  }
}
