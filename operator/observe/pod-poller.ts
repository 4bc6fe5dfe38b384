import {
  type CatalogCheck,
  type CheckStatus,
  type ConfigzError,
  type ConfigzMark,
  type ConfigzMarkReason,
  type ConfigzObserved,
  type ConfigzShard,
  configzWaitSecondsMax,
} from "../../crds/configz.ts";
import { reasons } from "../../crds/reasons.ts";
import { resourceKey } from "../../crds/shards/shards.ts";
import { kinds } from "../../crds/types/schemas.ts";
import { backoffMs, type BackoffOptions } from "../../kube/backoff.ts";
import { describeError } from "../../kube/client/kube-error.ts";
import { type Clock, pauseUntilAborted } from "../../limits/clock.ts";
import { type Agent, request } from "../../network/undici-connector.ts";
import type { PodAddress } from "./endpoints.ts";
import { markKey, type PodReport } from "./rollout.ts";

interface PodPollerOptions {
  readonly address: PodAddress;
  /** Keeps the connections to all pods. */
  readonly agent: InstanceType<typeof Agent>;
  /** Bearer token for the pod; undefined before there is one. */
  readonly token: () => string | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onReport: (report: PodReport) => void;
  /** Called when the pod stops responding, and again when the error changes. */
  readonly onSilence: (why: string) => void;
}

/** Well below the bound, so that a dead pod is noticed. */
const waitSeconds = Math.min(20, configzWaitSecondsMax);
/** Time for a response beyond the requested wait. */
const responseMsMax = 5_000;
/** Bound on a report: every resource of a large installation with a long error. */
const responseBytesMax = 16 * 1024 * 1024;
const backoff: BackoffOptions = { baseMs: 100, maxMs: 5_000, jitter: 0.3 };
/** Least pause between two polls, for a report that changes all the time. */
const pauseMs = 20;

/** A parsed report and its version, from which the next poll continues. */
interface ParsedReport {
  readonly version: string;
  readonly report: PodReport;
}

type Fields = Readonly<Record<string, unknown>>;

const markReasons: readonly ConfigzMarkReason[] = ["PartnerDisabled", ...keysOf(reasons.EndpointVerified)];

const checkStatuses: readonly CheckStatus[] = ["False", "Unknown", "NotChecked"];
/** Bounds of the list in a status. */
const observedMax = 256;
const checkTextMax = 256;
const versionCharsMax = 512;
/** More than any configuration has shards. */
const shardsMax = 1_000;

/** Polls the report of one pod with long polls until it is stopped. */
export class PodPoller {
  readonly #options: PodPollerOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: PodPollerOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random, onReport, onSilence } = this.#options;
    const { signal } = this.#stopping;
    let version: string | undefined;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const parsed = await this.#poll(version);
        if (signal.aborted) return;
        if (failures > 0 || parsed.version !== version) onReport(parsed.report);
        version = parsed.version;
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        onSilence(describeError(error));
      }
      await pauseUntilAborted(clock, failures === 0 ? pauseMs : backoffMs(failures, backoff, random), signal);
    }
  }

  async #poll(version: string | undefined): Promise<ParsedReport> {
    const { address, agent, token, clock } = this.#options;
    const query = version === undefined ? "" : `?wait=${waitSeconds}&after=${encodeURIComponent(version)}`;
    const limit = new AbortController();
    const cancel = clock.after((version === undefined ? 0 : waitSeconds * 1000) + responseMsMax, () =>
      limit.abort(new Error("no response in time")),
    );
    try {
      const { statusCode, body } = await request(`${address.url}/configz${query}`, {
        dispatcher: agent,
        headers: { authorization: `Bearer ${token() ?? ""}`, accept: "application/json" },
        signal: AbortSignal.any([this.#stopping.signal, limit.signal]),
      });
      const json = await readText(body);
      if (statusCode !== 200) throw new Error(`/configz responded with ${statusCode}`);
      return parseReport(JSON.parse(json));
    } finally {
      cancel();
    }
  }
}

async function readText(body: AsyncIterable<unknown>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const part = chunk as Uint8Array;
    parts.push(part);
    bytes += part.length;
    if (bytes > responseBytesMax) throw new Error(`the response exceeds ${responseBytesMax} bytes`);
  }
  return Buffer.concat(parts, bytes).toString("utf8");
}

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
  // Pods of earlier versions compare no catalogs.
  const observed = list(report["observed"] ?? [], "observed").flatMap(observedOf);
  return {
    version: text(report["version"], "version").slice(0, versionCharsMax),
    report: {
      shards: Object.fromEntries(shards.map(([name, shard]) => [name, shardOf(shard, name)])),
      errors: new Map(errors.map((error) => [resourceKey(error.kind, error), error])),
      marks: new Map(marks.map((mark) => [markKey(mark), mark])),
      observed: new Map(observed.map((one) => [one.uid, one])),
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

/** Later reasons are left out. */
function observedOf(value: unknown): readonly ConfigzObserved[] {
  const { namespace, name, uid, generation, reason, message, metrics } = fields(value, "an observed catalog");
  const known = keysOf(reasons.Observed).find((candidate) => candidate === reason);
  if (known === undefined) return [];
  return [
    {
      kind: "MetricCatalog",
      namespace: text(namespace, "namespace"),
      name: text(name, "name"),
      uid: text(uid, "uid"),
      generation: whole(generation, "generation"),
      status: reasons.Observed[known].status,
      reason: known,
      message: text(message, "message"),
      metrics: list(metrics, "metrics").slice(0, observedMax).flatMap(checksOf),
    },
  ];
}

function checksOf(value: unknown): readonly CatalogCheck[] {
  const { metric, status, check, message } = fields(value, "a check");
  const known = checkStatuses.find((candidate) => candidate === status);
  if (known === undefined) return [];
  const found = {
    metric: text(metric, "metric"),
    status: known,
    message: text(message, "message").slice(0, checkTextMax),
  };
  return [check === undefined ? found : { ...found, check: text(check, "check") }];
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
  throw new TypeError(`${what} is not an integer`);
}
