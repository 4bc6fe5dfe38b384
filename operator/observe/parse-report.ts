import type { ConfigzError, ConfigzMark, ConfigzMarkReason, ConfigzShard } from "../../crds/configz.ts";
import { resourceKey } from "../../crds/shards/shards.ts";
import { reasons } from "../../crds/reasons.ts";
import { kinds } from "../../crds/types/schemas.ts";
import { markKey, type PodReport } from "./rollout.ts";

/** A parsed report and its version, from which the next poll continues. */
export interface ParsedReport {
  readonly version: string;
  readonly report: PodReport;
}

type Fields = Readonly<Record<string, unknown>>;

const markReasons: readonly ConfigzMarkReason[] = ["PartnerDisabled", ...keysOf(reasons.EndpointVerified)];

const versionCharsMax = 512;
/** More than any configuration has shards. */
const shardsMax = 1_000;

/**
 * Parses the response of a pod. Unknown kinds and marks of a later version are left out. Any other fault rejects the
 * whole report.
 *
 * @throws TypeError naming the faulty member
 */
export function parseReport(value: unknown): ParsedReport {
  const report = fields(value, "the report");
  const shards = Object.entries(fields(report["shards"], "shards"));
  if (shards.length > shardsMax) throw new TypeError(`the report names ${shards.length} shards`);
  const errors = list(report["errors"], "errors").flatMap(errorsOf);
  const marks = list(report["marks"], "marks").flatMap(marksOf);
  return {
    version: text(report["version"], "version").slice(0, versionCharsMax),
    report: {
      shards: Object.fromEntries(shards.map(([name, shard]) => [name, shardOf(shard, name)])),
      errors: new Map(errors.map((error) => [resourceKey(error.kind, error), error])),
      marks: new Map(marks.map((mark) => [markKey(mark), mark])),
    },
  };
}

function shardOf(value: unknown, name: string): ConfigzShard {
  const { revision, sha256, error } = fields(value, `shards.${name}`);
  const shard = { revision: whole(revision, "revision"), sha256: text(sha256, "sha256") };
  return error === undefined || error === null ? shard : { ...shard, error: text(error, "error") };
}

function errorsOf(value: unknown): readonly ConfigzError[] {
  const { kind, namespace, name, generation, reason, message } = fields(value, "an error");
  const known = kinds.find((candidate) => candidate === kind);
  if (known === undefined) return [];
  const error = {
    kind: known,
    namespace: text(namespace, "namespace"),
    name: text(name, "name"),
    generation: whole(generation, "generation"),
    reason: text(reason, "reason"),
    message: text(message, "message"),
  };
  return [error];
}

function marksOf(value: unknown): readonly ConfigzMark[] {
  const { namespace, name, uid, generation, reason, message, since } = fields(value, "a mark");
  const known = markReasons.find((candidate) => candidate === reason);
  if (known === undefined) return [];
  const mark = {
    kind: "WebhookPartner" as const,
    namespace: text(namespace, "namespace"),
    name: text(name, "name"),
    uid: text(uid, "uid"),
    generation: whole(generation, "generation"),
    reason: known,
    message: text(message, "message"),
    since: text(since, "since"),
  } satisfies ConfigzMark;
  return [mark];
}

function keysOf<T extends object>(table: T): readonly (keyof T)[] {
  return Object.keys(table) as (keyof T)[];
}

function fields(value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new TypeError(`${what} is not an object`);
}

function list(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new TypeError(`${what} is not a list`);
}

function text(value: unknown, what: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(`${what} is not a string`);
}

function whole(value: unknown, what: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new TypeError(`${what} is not a whole number`);
}
