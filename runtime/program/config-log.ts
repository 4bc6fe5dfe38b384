import type { Logger } from "pino";
import type { ConfigzError } from "../../crds/configz.ts";
import { changesBetween } from "../config/folder/object-changes.ts";
import type { ConfigState } from "../config/config-source.ts";
import type { FolderState } from "../config/folder/folder-state.ts";
import { retentionFaults } from "../config/settings/retention.ts";
import type { StreamSettings } from "../config/settings/settings.ts";
import type { StateLog } from "./follow-config.ts";

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
      if (!known.has(keyOf(error))) log.error(error, "resource not applied as written");
    logRetention(log, streams, after);
    const { partners, catalogs, quotas } = after.config;
    const counts = { partners: partners.length, catalogs: catalogs.length, quotas: quotas.length };
    log.info({ configHash: after.hash, ...counts, errors: after.errors?.length ?? 0 }, "configuration");
  };
}

function logRevisions(log: Logger, before: ConfigState, after: ConfigState): void {
  for (const [shard, { revision, sha256 }] of Object.entries(after.shards ?? {})) {
    if (before.shards?.[shard]?.revision !== revision) log.info({ shard, revision, sha256 }, "shard");
  }
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
