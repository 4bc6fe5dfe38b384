import type { RuntimeConfig } from "../../crds/config.ts";

/** A configuration as a source holds it now. */
export interface ConfigState {
  readonly config: RuntimeConfig;
  /** sha256 of the configuration's canonical JSON, lowercase hex. */
  readonly hash: string;
}

/** Where the configuration comes from: a folder, or a cluster. It always holds one; what cannot be read changes nothing. */
export interface ConfigSource<State extends ConfigState = ConfigState> {
  current(): State;
  /** Tells of every later state, one after another. @returns what ends the telling */
  onChange(listener: (state: State) => void): () => void;
}
