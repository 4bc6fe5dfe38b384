import type { Logger } from "pino";
import type { ResourceResult } from "../../crds/compile/resource-result.ts";
import type { EventCatalogConfig } from "../../crds/config.ts";
import type { ConfigzError } from "../../crds/configz.ts";
import { resourcesOf } from "../../crds/part.ts";
import type { ConfigState } from "../config/config-source.ts";
import type { FolderState } from "../config/folder/folder-state.ts";
import { retentionFaults, type StreamSettings } from "../config/settings/settings.ts";
import type { StateLog } from "./follow-config.ts";

/** Effect of an edit on one object, for the log. */
interface ObjectChange {
  /** `Kind/namespace/name` */
  readonly object: string;
  readonly outcome: "accepted" | "refused" | "removed";
  /** Reason of the condition that rejects the object; absent otherwise. */
  readonly reason?: string;
  readonly message?: string;
  readonly warnings?: readonly string[];
  /** State in force instead of a rejected object; absent: none. */
  readonly instead?: "last good version" | "held";
}

/** Logs the outcome of each object of a folder, and everything that is not applied as written. */
export function folderLog(log: Logger, streams: StreamSettings): StateLog<FolderState> {
  return (before, after) => {
    for (const change of changesBetween(before, after)) {
      if (change.outcome === "refused") log.warn(change, "object");
      else log.info(change, "object");
    }
    for (const problem of after.problems) log.warn(problem, "configuration problem");
    for (const object of after.kept) log.error({ object }, "update rejected, previous version kept");
    logRetention(log, streams, after);
    const { hash, problems, kept } = after;
    log.info({ configHash: hash, problems: problems.length, kept: kept.length }, "configuration");
  };
}

/** Logs changed shards, and once everything in them that is not applied. */
export function shardLog(log: Logger, streams: StreamSettings): StateLog<ConfigState> {
  return (before, after) => {
    if (before !== undefined) logRevisions(log, before, after);
    logShardErrors(log, before, after);
    const known = new Set(before?.errors?.map(keyOf));
    for (const error of after.errors ?? [])
      if (!known.has(keyOf(error))) log.error(error, "resource not fully applied");
    logRetention(log, streams, after);
    const { partners, catalogs, quotas, eventCatalogs } = after.config;
    const types = eventCatalogs === undefined ? {} : { eventCatalogs: presentCatalogs(eventCatalogs).length };
    const counts = { partners: partners.length, catalogs: catalogs.length, quotas: quotas.length, ...types };
    log.info({ configHash: after.hash, ...counts, errors: after.errors?.length ?? 0 }, "configuration");
  };
}

/** Catalogs of event types whose objects exist. Of others, only the fields that stay excluded are left. */
export function presentCatalogs(catalogs: readonly EventCatalogConfig[]): readonly EventCatalogConfig[] {
  return catalogs.filter(({ deleted }) => deleted !== true);
}

function logRevisions(log: Logger, before: ConfigState, after: ConfigState): void {
  for (const [shard, { revision, sha256 }] of Object.entries(after.shards ?? {}))
    if (before.shards?.[shard]?.revision !== revision) log.info({ shard, revision, sha256 }, "shard");
}

function logShardErrors(log: Logger, before: ConfigState | undefined, after: ConfigState): void {
  for (const [shard, { revision, error }] of Object.entries(after.shards ?? {})) {
    const isNew = error !== undefined && before?.shards?.[shard]?.error !== error;
    if (isNew) log.error({ shard, revision, error }, "update rejected, previous version kept");
  }
}

function keyOf(error: ConfigzError): string {
  return JSON.stringify(error);
}

function logRetention(log: Logger, streams: StreamSettings, { config }: ConfigState): void {
  for (const fault of retentionFaults(streams, config)) log.error({ fault }, "stream retention too short");
}

/** Objects whose spec or result differs between two states; all objects without an earlier state. */
export function changesBetween(before: FolderState | undefined, after: FolderState): readonly ObjectChange[] {
  const known = new Map(before === undefined ? [] : marked(before));
  const present = marked(after);
  const changed = present
    .filter(([object, { mark }]) => known.get(object)?.mark !== mark)
    .map(([, { change }]) => change);
  const gone = new Set(known.keys()).difference(new Set(present.map(([object]) => object)));
  return [...changed, ...[...gone].map((object): ObjectChange => ({ object, outcome: "removed" }))];
}

/** Every object with its result, and a mark that changes with its spec or result. */
function marked(state: FolderState): readonly (readonly [string, { mark: string; change: ObjectChange }])[] {
  const digests = new Map(resourcesOf(state.config).map(({ uid, specDigest }) => [uid, specDigest]));
  return state.results.map((result) => {
    const change = changeOf(result);
    return [change.object, { mark: JSON.stringify([change, digests.get(result.uid)]), change }];
  });
}

function changeOf({
  kind,
  namespace,
  name,
  accepted,
  resolvedRefs,
  warnings,
  lastGood,
  held,
}: ResourceResult): ObjectChange {
  const object = `${kind}/${namespace}/${name}`;
  const noted = warnings.length === 0 ? {} : { warnings };
  if (accepted.status && resolvedRefs.status) return { object, outcome: "accepted", ...noted };
  const { reason, message } = accepted.status ? resolvedRefs : accepted;
  const instead = lastGood !== undefined ? "last good version" : held !== undefined ? "held" : undefined;
  return { object, outcome: "refused", reason, message, ...(instead === undefined ? {} : { instead }), ...noted };
}
