import { readFile, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { configDigest } from "../../crds/compile/compile.ts";
import type { RuntimeConfig } from "../../crds/config.ts";
import type { ConfigSource, ConfigState } from "./config-source.ts";
import { supportedConfig } from "./supported-config.ts";

const pollMsDefault = 200;
const fileBytesMax = 64 * 1024 * 1024;

/**
 * Configuration from a file that holds what `compile` made, as JSON. It is looked at again and again, as a folder is; a
 * file that cannot be read, or is none, changes nothing.
 */
export class CompiledFileSource implements ConfigSource {
  private readonly path: string;
  private readonly log: Pick<Logger, "error">;
  private readonly listeners = new Set<(state: ConfigState) => void>();
  private readonly stopping = new AbortController();
  private state: ConfigState;
  private signature: string;
  private watching: Promise<void> = Promise.resolve();

  private constructor(path: string, log: Pick<Logger, "error">, state: ConfigState, signature: string) {
    this.path = path;
    this.log = log;
    this.state = state;
    this.signature = signature;
  }

  /** Reads the file and goes on watching it. @throws Error when it cannot be read or holds something else */
  static async open(path: string, log: Pick<Logger, "error">, pollMs = pollMsDefault): Promise<CompiledFileSource> {
    const signature = await signatureOf(path);
    const source = new CompiledFileSource(path, log, stateOf(await readConfig(path), undefined), signature);
    source.watching = source.watch(pollMs);
    return source;
  }

  current(): ConfigState {
    return this.state;
  }

  onChange(listener: (state: ConfigState) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.watching;
  }

  private async watch(pollMs: number): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await this.look();
    }
  }

  private async look(): Promise<void> {
    const signature = await signatureOf(this.path).catch((error: unknown) => String(error));
    if (signature === this.signature) return;
    this.signature = signature;
    try {
      const state = stateOf(await readConfig(this.path), this.state.config);
      if (state.hash === this.state.hash) return;
      this.state = state;
      for (const listener of this.listeners) listener(state);
    } catch (err) {
      this.log.error({ err, path: this.path }, "kept as it was before: what is written now is refused");
    }
  }
}

async function signatureOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs].join(":");
}

async function readConfig(path: string): Promise<RuntimeConfig> {
  const { size } = await stat(path);
  if (size > fileBytesMax) throw new Error(`it is larger than ${fileBytesMax} bytes`);
  const value: unknown = JSON.parse(await readFile(path, "utf8"));
  if (!isRuntimeConfig(value)) throw new Error("it is no compiled configuration of schema 1");
  return value;
}

function isRuntimeConfig(value: unknown): value is RuntimeConfig {
  const { schema, partners, catalogs, quotas, classDefaults, material } = (value ?? {}) as Record<
    keyof RuntimeConfig,
    unknown
  >;
  const isMap = (part: unknown): boolean => typeof part === "object" && part !== null && !Array.isArray(part);
  return schema === 1 && [partners, catalogs, quotas].every(Array.isArray) && isMap(classDefaults) && isMap(material);
}

function stateOf(read: RuntimeConfig, previous: RuntimeConfig | undefined): ConfigState {
  const { config, errors } = supportedConfig(read, previous);
  return { config, hash: configDigest(read), errors };
}
