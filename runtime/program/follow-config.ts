import type { Logger } from "pino";
import type { ConfigSource, ConfigState } from "../config/config-source.ts";

/** Logs a configuration: the first without a predecessor, then each change. */
export type StateLog<State> = (before: State | undefined, after: State) => void;

interface FollowOptions<State extends ConfigState> {
  readonly source: Pick<ConfigSource<State>, "current" | "onChange">;
  /** The configuration that is already applied. */
  readonly initial: State;
  /** Applies a configuration; called only for another one, or when something else is not applied. */
  readonly apply: (state: State) => void;
  /** Receives every state that is applied, and every state that cannot be applied, with its error. */
  readonly onState: (state: State, fault: Error | undefined) => void;
  readonly logState: StateLog<State>;
  readonly log: Logger;
}

/**
 * Applies every later configuration of a source. A configuration that cannot be applied is logged, and the one before
 * stays applied. Returns a function that ends this.
 */
export function followConfig<State extends ConfigState>(options: FollowOptions<State>): () => void {
  const { source, initial, apply, onState, logState, log } = options;
  let seen = initial;
  let applied = initial;
  const applyChanges = (state: State): void => {
    const before = seen;
    seen = state;
    try {
      if (isOther(state, applied)) apply(state);
      applied = state;
      onState(state, undefined);
    } catch (error) {
      log.error({ err: error, configHash: state.hash }, "configuration not applied");
      onState(state, error instanceof Error ? error : new Error(String(error)));
    }
    logState(before, state);
  };
  logState(undefined, initial);
  const end = source.onChange(applyChanges);
  // Changes between `initial` and the subscription.
  if (source.current() !== initial) applyChanges(source.current());
  return end;
}

/** The hash is of what is applied: it is the same after an edit that is rejected. */
function isOther({ hash, config }: ConfigState, applied: ConfigState): boolean {
  return hash !== applied.hash || JSON.stringify(config.notApplied) !== JSON.stringify(applied.config.notApplied);
}
