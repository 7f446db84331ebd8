/**
 * What every command is given: settings on demand, the three streams, and whether a person sits at them.
 * Settings are read at the first `config()`, so that `--help` and a broken file do not meet.
 */
import { isatty, type ReadStream, type WriteStream } from "node:tty";
import { processEnvironment, type Environment } from "../../config/env.js";
import { loadConfig } from "../../config/load.js";
import type { GatewayConfig } from "../../config/schema.js";
import { secretsOf } from "../../config/secrets.js";
import { createRedactor, type Redactor } from "../safety/redact.js";

export interface GlobalOptions {
  readonly config?: string;
  readonly data?: string;
  readonly verbose?: boolean;
}

export interface CliContext {
  readonly options: GlobalOptions;
  readonly cwd: string;
  readonly env: Environment;
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly errors: WriteStream;
  /** True when a person can be asked: input and output are a terminal. */
  readonly isTerminal: boolean;
  /** The settings, read once. Throws ConfigError. */
  config(): GatewayConfig;
  /** Reads the settings again at the next `config()`, after files were written. */
  forgetConfig(): void;
  /** Knows the configured secrets as soon as the settings were read. */
  redactor(): Redactor;
  /** One line (or several) to standard output. */
  print(text: string): void;
  /** One line (or several) to standard error. */
  complain(text: string): void;
}

/** The context of this process. */
export function createContext(options: GlobalOptions): CliContext {
  const { stdin: input, stdout: output, stderr: errors } = process;
  const cwd = process.cwd();
  const env = processEnvironment();
  let loaded: GatewayConfig | undefined;
  let redactor = createRedactor({ secrets: [] });
  return {
    options,
    cwd,
    env,
    input,
    output,
    errors,
    isTerminal: isatty(0) && isatty(1),
    config() {
      if (loaded === undefined) {
        loaded = loadConfig({ configFile: options.config, dataDir: options.data, env, cwd });
        redactor = createRedactor({ secrets: secretsOf(loaded) });
      }
      return loaded;
    },
    forgetConfig() {
      loaded = undefined;
    },
    redactor: () => redactor,
    print: (text) => void output.write(`${redactor.text(text)}\n`),
    complain: (text) => void errors.write(`${redactor.text(text)}\n`),
  };
}
