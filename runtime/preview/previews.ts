import type { Preview } from "../../api/previews.ts";
import { randomUUID } from "node:crypto";
import { createSingleFlight } from "../../limits/bounded-map.ts";
import { canonicalJson } from "../../crds/compile/canonical-json.ts";
import type { RuntimeConfig } from "../../crds/config.ts";
import { runPeriodically } from "../../limits/clock.ts";
import type { MetricsApi } from "../metrics/metrics-api.ts";
import { ApiError, invalidField } from "../errors/api-error.ts";
import type { NatsConnectionHandle } from "../nats/connection/connect.ts";
import type { Layout } from "../nats/layout.ts";
import { openHeaderScan } from "../nats/messages/header-scan.ts";
import { createBucket } from "../nats/streams/buckets.ts";
import { createAttemptsStream } from "../nats/streams/attempts-stream.ts";
import { createEventsStream } from "../nats/streams/events-stream.ts";
import { ownerOf, type Pods } from "../pods/pods.ts";
import { eventHash } from "../webhooks/ids.ts";
import { parseAttempts } from "../webhooks/records/attempt-records.ts";
import { isNarrowed, mayNamePartner, partnersOf } from "../webhooks/history/history-view.ts";
import type { Log } from "../webhooks/log.ts";
import { editedConfig } from "./edited-config.ts";
import { noAttempts } from "./attempt-changes.ts";
import { noMatches } from "./match-changes.ts";
import { configIdentity, effectsOf } from "./preview-effect.ts";
import { isOver, mayReadPreview, previewResponse, type PreviewCaller, type PreviewJob } from "./preview-job.ts";
import { parsePreviewRequest, type PreviewRequest } from "./preview-request.ts";
import { createPreviewStore, type OpenPreview, type PreviewStore } from "./preview-store.ts";
import { runPreview, type RunDeps } from "./run-preview.ts";

/** Previews of edits, for callers. */
export interface Previews {
  /** Compares resources at once. With a window, stores a preview that counts events. @throws ApiError */
  start(body: Uint8Array, caller: PreviewCaller): Promise<Preview>;
  /** @throws ApiError `preview_not_found` */
  get(id: string, caller: PreviewCaller): Promise<Preview>;
}

/** Dependencies of previews. */
export interface PreviewDeps {
  readonly nats: NatsConnectionHandle;
  readonly layout: Layout;
  /** The configuration that this pod applies. */
  readonly config: () => RuntimeConfig;
  /** The live pods, one of which runs previews. */
  readonly pods: Pick<Pods, "own" | "live">;
  readonly log: Log;
  /** What becomes of types that no catalog declares. @default Accept */
  readonly undeclared?: "Accept" | "Warn" | "Reject";
  /** Judges recorded queries. @default no queries are recorded */
  readonly judgeEdit?: MetricsApi["judgeEdit"];
  /** Reads who used what an edit removes. @default usage is not shown */
  readonly removedUses?: MetricsApi["removedUses"];
}

/** Previews that have not ended, of the whole installation. They run in sequence. */
const openMax = 8;
const busySeconds = 15;
/** Between two looks for previews that another pod took. */
const pollMs = 3_000;
/** Failures in a row after which a preview fails. */
const failuresMax = 10;
const ownerKey = "previews";
const idForm = /^[\w-]{1,64}$/u;

/** Creates previews, and runs those that this pod owns until it is stopped. */
export function createPreviews(deps: PreviewDeps): Previews & { stop(): void } {
  const store = createPreviewStore(createBucket(deps.nats, deps.layout.buckets.previews));
  const ending = new AbortController();
  const once = createSingleFlight<void>();
  const runner = createRunner(deps, store, ending.signal);
  const run = (): Promise<void> => once("run", runner);
  const stop = runPeriodically(pollMs, run);
  return {
    start: async (body, caller) => {
      const response = await start(deps, store, body, caller);
      // A failed run is tried again by the next look.
      run().catch(() => undefined);
      return response;
    },
    get: async (id, caller) => {
      const job = idForm.test(id) ? await store.get(id) : undefined;
      if (job === undefined || !mayReadPreview(job, caller))
        throw new ApiError("preview_not_found", "The preview does not exist or is not visible to this caller.");
      return previewResponse(job);
    },
    stop: () => {
      stop();
      ending.abort();
    },
  };
}

async function start(
  deps: PreviewDeps,
  store: PreviewStore,
  body: Uint8Array,
  caller: PreviewCaller,
): Promise<Preview> {
  const request = await parsePreviewRequest(body);
  rejectOthers(request, caller);
  rejectMatchers(request, caller, deps.config());
  const job = await newJob(deps, request, caller);
  if (request.fromMs === undefined) return previewResponse({ ...job, status: "completed" });
  rejectMore(await store.listOpen(), caller);
  await store.makeSpace();
  const stored = { ...job, ...(await windowOf(deps, request.fromMs, request.toMs)) };
  const { resources, prune } = request;
  await store.open(stored, { resources, prune });
  return previewResponse(stored);
}

/** A caller that is narrowed to partners previews these only. */
function rejectOthers({ resources }: PreviewRequest, caller: PreviewCaller): void {
  if (!isNarrowed(caller)) return;
  for (const [index, { kind, metadata }] of resources.entries()) {
    const label = `${metadata.namespace}/${metadata.name}`;
    if (kind === "WebhookPartner" && mayNamePartner(caller, label)) continue;
    const detail =
      `the token is limited to certain partners, and ${kind} ${label} is not one of them; preview only those ` +
      "partners";
    throw invalidField("partner_not_found", `resources[${index}]`, detail);
  }
}

/** New matchers would show a caller that is narrowed to partners the content of events that these do not get. */
function rejectMatchers({ resources }: PreviewRequest, caller: PreviewCaller, { partners }: RuntimeConfig): void {
  if (!isNarrowed(caller)) return;
  for (const [index, resource] of resources.entries()) {
    if (resource.kind !== "WebhookPartner") continue;
    const { namespace, name } = resource.metadata;
    const applied = partners.find((partner) => partner.namespace === namespace && partner.name === name);
    const known = new Set(applied?.subscriptions.map(({ selects }) => canonicalJson(selects?.matchers ?? [])));
    if (
      resource.spec.subscriptions.every(
        ({ matchers = [] }) => matchers.length === 0 || known.has(canonicalJson(matchers)),
      )
    )
      continue;
    const detail = "the token is limited to certain partners, so it cannot preview new matchers; remove them";
    throw invalidField("invalid_request", `resources[${index}].spec.subscriptions`, detail);
  }
}

function rejectMore(open: readonly OpenPreview[], { client }: PreviewCaller): void {
  const isOwn = open.some((one) => one.client === client);
  if (!isOwn && open.length < openMax) return;
  const detail = isOwn
    ? "A preview of this caller is already in progress; wait until it completes"
    : `${openMax} previews are already in progress`;
  throw new ApiError("too_many_requests", detail, { retryAfterSeconds: busySeconds });
}

async function newJob(deps: PreviewDeps, request: PreviewRequest, caller: PreviewCaller): Promise<PreviewJob> {
  const base = deps.config();
  const edited = editedConfig(base, request);
  return {
    id: randomUUID(),
    createdAt: new Date(deps.nats.clock.now()).toISOString(),
    client: caller.client,
    tenants: [...new Set(caller.tenants)],
    ...(caller.metrics === undefined ? {} : { metrics: caller.metrics }),
    ...(caller.seesAllUsage === true ? { seesAllUsage: true } : {}),
    ...partnersOf(caller),
    status: "queued",
    base: configIdentity(base),
    prune: request.prune,
    ...(await effectsOf(deps, base, edited, caller)),
    cursor: 0,
    tally: noMatches(),
    attempts: noAttempts(),
    restarts: 0,
  };
}

/** The window up to the last event of now, and the time of the oldest event. */
async function windowOf(
  { nats, layout }: PreviewDeps,
  fromMs: number,
  toMs: number | undefined,
): Promise<Pick<PreviewJob, "window" | "oldestEventMs" | "oldestAttemptMs">> {
  const events = createEventsStream(nats, layout);
  const [{ messages, firstSeq }, lastSeq] = await Promise.all([events.size(), events.lastSeq()]);
  const oldest = messages === 0 ? undefined : await events.at(firstSeq);
  const attempt = await createAttemptsStream(nats, layout).oldest();
  return {
    window: { fromMs, lastSeq, ...(toMs === undefined ? {} : { toMs }) },
    ...(oldest === undefined ? {} : { oldestEventMs: oldest.storedAtMs }),
    ...(attempt === undefined ? {} : { oldestAttemptMs: attempt.storedAtMs }),
  };
}

/** Runs the open previews of the installation while this pod owns them. */
function createRunner(deps: PreviewDeps, store: PreviewStore, ending: AbortSignal): () => Promise<void> {
  const { nats, layout, config, pods, log } = deps;
  const failures = new Map<string, number>();
  const attempts = createAttemptsStream(nats, layout);
  const isOwner = (): boolean => ownerOf(ownerKey, pods.live()) === pods.own;
  const run: RunDeps = {
    config,
    rejectsUndeclared: deps.undeclared === "Reject",
    judgeEdit: deps.judgeEdit,
    removedUses: deps.removedUses,
    scan: (tenants, range) =>
      openHeaderScan(nats, layout.streams.events, {
        subjects: tenants.map((tenant) => layout.event(tenant, "*")),
        ...range,
      }),
    attempts: async ({ tenant, eventId }) => parseAttempts(await attempts.list(tenant, eventHash(eventId))),
    save: (job) => store.save(job),
    isOwner,
    ending,
  };
  return async () => {
    const open = isOwner() ? await store.listOpen() : [];
    for (const { id } of open) {
      try {
        await runStored(run, store, id);
        failures.delete(id);
      } catch (error) {
        const count = (failures.get(id) ?? 0) + 1;
        failures.set(id, count);
        if (count === 1) log.warn({ err: error, previewId: id }, "preview failed, retry scheduled");
        if (count >= failuresMax) await fail(store, id);
      }
    }
  };
}

async function runStored(run: RunDeps, store: PreviewStore, id: string): Promise<void> {
  const [job, edit] = await Promise.all([store.get(id), store.edit(id)]);
  if (job === undefined || isOver(job)) return store.forget(id);
  if (edit === undefined) return store.close(failed(job));
  const last = await runPreview(run, job, edit);
  await (isOver(last) ? store.close(last) : store.save(last));
}

async function fail(store: PreviewStore, id: string): Promise<void> {
  const job = await store.get(id);
  if (job !== undefined) await store.close(failed(job));
}

function failed(job: PreviewJob): PreviewJob {
  const detail = "The preview stopped because of an internal error; see the runtime log for the preview id.";
  return { ...job, status: "failed", detail };
}
