import type { ConfigzError, ConfigzMark, ConfigzShard } from "../../crds/configz.ts";
import type { ConfigReport } from "../http/server/configz.ts";
import { withVersion } from "../program/status.ts";

/**
 * One report for all processes of a pod. A shard has the revision of the process that is furthest behind, and an error
 * of any process. The hash and the figures are those of the process that applied its configuration first: with
 * different hashes, that one is behind.
 * @param reports of every process; undefined: it has not reported yet
 */
export function joinReports(
  pod: string,
  isReady: boolean,
  reports: readonly (ConfigReport | undefined)[],
): ConfigReport {
  const known = reports.filter((report) => report !== undefined);
  const isComplete = known.length === reports.length && known.every(({ hash }) => hash !== null);
  return withVersion({
    pod,
    ready: isReady && isComplete,
    ...appliedOf(isComplete ? known : []),
    shards: known.length === reports.length ? joinShards(known.map(({ shards }) => shards)) : {},
    errors: distinct<ConfigzError>(known.flatMap(({ errors }) => errors)),
    marks: joinMarks(known.flatMap(({ marks }) => marks)),
  });
}

type Applied = Pick<
  ConfigReport,
  "hash" | "content_hash" | "applied_at" | "partners" | "catalogs" | "quotas" | "problems"
>;

function appliedOf(reports: readonly ConfigReport[]): Applied {
  const [first] = reports.toSorted((one, other) => ((one.applied_at ?? "") < (other.applied_at ?? "") ? -1 : 1));
  if (first === undefined)
    return { hash: null, content_hash: null, applied_at: null, partners: 0, catalogs: 0, quotas: 0, problems: 0 };
  const { hash, content_hash, applied_at, partners, catalogs, quotas, problems } = first;
  return { hash, content_hash, applied_at, partners, catalogs, quotas, problems };
}

function joinShards(all: readonly ConfigReport["shards"][]): ConfigReport["shards"] {
  const [first = {}] = all;
  const inAll = Object.keys(first).filter((name) => all.every((shards) => shards[name] !== undefined));
  return Object.fromEntries(inAll.map((name) => [name, joinShard(all.flatMap((shards) => shards[name] ?? []))]));
}

function joinShard(versions: readonly ConfigzShard[]): ConfigzShard {
  const [behind] = versions.toSorted((one, other) => one.revision - other.revision);
  const error = versions.find((version) => version.error !== undefined)?.error;
  const { revision = 0, sha256 = "" } = behind ?? {};
  return { revision, sha256, ...(error === undefined ? {} : { error }) };
}

/** One mark of each kind per partner, which is the last one. The result of an endpoint validation is one kind. */
function joinMarks(marks: readonly ConfigzMark[]): readonly ConfigzMark[] {
  const byPartner = Map.groupBy(marks, ({ uid, reason }) => `${uid} ${reason === "PartnerDisabled"}`);
  return [...byPartner.values()].flatMap((same) => same.toSorted(bySince).slice(-1));
}

function bySince(one: ConfigzMark, other: ConfigzMark): number {
  if (one.since === other.since) return 0;
  return one.since < other.since ? -1 : 1;
}

function distinct<T extends object>(items: readonly T[]): readonly T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}
