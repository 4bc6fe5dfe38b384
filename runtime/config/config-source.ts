// Configuration sources, and the supported part of a configuration. The parsers are in the rooms below.
import type { RuntimeConfig } from "../../crds/config.ts";
import type { ConfigzError, ConfigzShard } from "../../crds/configz.ts";

/** The present configuration of a source. */
export interface ConfigState {
  readonly config: RuntimeConfig;
  /** Lowercase hex; equal for equal configurations of one source. */
  readonly hash: string;
  /** Versions of its shards, by name. @default it has no shards */
  readonly shards?: Readonly<Record<string, ConfigzShard>>;
  /** Resources that are not applied as the source holds them. @default none */
  readonly errors?: readonly ConfigzError[];
  /** Bearer token for `/configz`. @default none: only this machine may read it */
  readonly configzToken?: string;
}

/**
 * The source of the configuration: a folder or a cluster. It always holds one; unreadable input changes nothing.
 */
export interface ConfigSource<State extends ConfigState = ConfigState> {
  current(): State;
  /** Calls the listener for every later state, in order. @returns a function that removes the listener */
  onChange(listener: (state: State) => void): () => void;
  /** Stops watching; resolves when all work has ended. */
  stop(): Promise<void>;
}
