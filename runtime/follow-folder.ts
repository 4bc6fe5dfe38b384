import type { Logger } from "pino";
import { changesBetween } from "./config/changes.ts";
import type { ConfigSource } from "./config/config-source.ts";
import type { FolderState } from "./config/folder.ts";
import { retentionFaults } from "./config/retention.ts";
import type { StreamSettings } from "./config/settings.ts";

export interface FollowOptions {
  readonly source: Pick<ConfigSource<FolderState>, "current" | "onChange">;
  /** What is obeyed already. */
  readonly initial: FolderState;
  readonly streams: StreamSettings;
  readonly apply: (state: FolderState) => void;
  readonly log: Logger;
}

/**
 * Applies every later configuration of a folder and logs, at first and after each change, what became of which object.
 * A configuration that cannot be applied is logged and leaves the program running. Answers what ends the following.
 */
export function followFolder({ source, initial, streams, apply, log }: FollowOptions): () => void {
  let obeyed = initial;
  const obey = (state: FolderState): void => {
    const before = obeyed;
    obeyed = state;
    try {
      if (before.hash !== state.hash) apply(state);
    } catch (err) {
      log.error({ err, configHash: state.hash }, "the configuration cannot be applied");
    }
    logState(log, streams, before, state);
  };
  logState(log, streams, undefined, initial);
  const end = source.onChange(obey);
  // What changed between the first look and now.
  if (source.current() !== initial) obey(source.current());
  return end;
}

function logState(log: Logger, streams: StreamSettings, before: FolderState | undefined, after: FolderState): void {
  for (const change of changesBetween(before, after)) {
    if (change.outcome === "refused") log.warn(change, "object");
    else log.info(change, "object");
  }
  for (const problem of after.problems) log.warn(problem, "configuration problem");
  for (const object of after.kept) log.error({ object }, "kept as it was before: what is written now is refused");
  for (const fault of retentionFaults(streams, after.config)) log.error({ fault }, "streams forget too soon");
  const { hash, problems, kept } = after;
  log.info({ configHash: hash, problems: problems.length, kept: kept.length }, "configuration");
}
