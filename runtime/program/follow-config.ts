import type { Logger } from "pino";
import type { ConfigSource, ConfigState } from "../config/config-source.ts";

/** Logs what became of the configuration: at first, with nothing before, and after each change. */
export type StateLog<State> = (before: State | undefined, after: State) => void;

interface FollowOptions<State extends ConfigState> {
  readonly source: Pick<ConfigSource<State>, "current" | "onChange">;
  /** What is obeyed already. */
  readonly initial: State;
  /** Obeys a configuration from now on; called for another one only. */
  readonly apply: (state: State) => void;
  /** Told of every state that is obeyed from now on, and of one that cannot be, with what kept it from that. */
  readonly told: (state: State, fault: Error | undefined) => void;
  readonly logState: StateLog<State>;
  readonly log: Logger;
}

/**
 * Applies every later configuration of a source. One that cannot be applied is logged and leaves the program running
 * with what it had. Answers what ends the following.
 */
export function followConfig<State extends ConfigState>(options: FollowOptions<State>): () => void {
  const { source, initial, apply, told, logState, log } = options;
  let seen = initial;
  let applied = initial;
  const applyChanges = (state: State): void => {
    const before = seen;
    seen = state;
    try {
      if (applied.hash !== state.hash) apply(state);
      applied = state;
      told(state, undefined);
    } catch (error) {
      log.error({ err: error, configHash: state.hash }, "the configuration cannot be applied");
      told(state, error instanceof Error ? error : new Error(String(error)));
    }
    logState(before, state);
  };
  logState(undefined, initial);
  const end = source.onChange(applyChanges);
  // What changed between the first look and now.
  if (source.current() !== initial) applyChanges(source.current());
  return end;
}
