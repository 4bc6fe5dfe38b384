import type { RuntimeConfig } from "../../crds/config.ts";
import type { ConfigzError, ConfigzShard } from "../../crds/configz.ts";

/** A configuration as a source holds it now. */
export interface ConfigState {
  readonly config: RuntimeConfig;
  /** Lowercase hex; equal for equal configurations of one source. */
  readonly hash: string;
  /** What the configuration came in, by shard name. @default it came whole */
  readonly shards?: Readonly<Record<string, ConfigzShard>>;
  /** Resources that are not obeyed as the source holds them. @default none */
  readonly errors?: readonly ConfigzError[];
  /** What readers of `/configz` prove themselves with. @default nothing: only this machine may read it */
  readonly configzToken?: string;
}

/**
 * Where the configuration comes from: a folder, or a cluster. It always holds one; what cannot be read changes nothing.
 */
export interface ConfigSource<State extends ConfigState = ConfigState> {
  current(): State;
  /** Tells of every later state, one after another. @returns what ends the telling */
  onChange(listener: (state: State) => void): () => void;
  /** Ends the watching; resolves when nothing is under way any more. */
  stop(): Promise<void>;
}
