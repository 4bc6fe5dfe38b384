import { setTimeout as sleep } from "node:timers/promises";
import type { RuntimeConfig } from "../../crds/config.ts";
import type { HeaderScan, ScanStart, ScannedMessage } from "../nats/messages/header-scan.ts";
import { anyTenant, includesTenant } from "../webhooks/ids.ts";
import { isNarrowed, mayNamePartner } from "../webhooks/history/history-view.ts";
import type { AttemptRecord } from "../webhooks/records/attempt-records.ts";
import { createAttemptChanges, noAttempts, type AttemptChanges } from "./attempt-changes.ts";
import { readEvent, readRecordedEvent, type StoredEvent } from "../webhooks/records/event-record.ts";
import { createContractChanges, noContracts, type ContractChanges, type ContractRules } from "./contract-changes.ts";
import { editedConfig, type Edit } from "./edited-config.ts";
import { createMatchChanges, noMatches, type MatchChanges } from "./match-changes.ts";
import type { PreviewJob } from "./preview-job.ts";
import { configIdentity, effectsOf, type EffectDeps } from "./preview-effect.ts";

/** Opens a scan of the events of some tenants. */
export type OpenScan = (
  tenants: readonly string[],
  start: Pick<ScanStart, "from" | "withBodies">,
) => Promise<HeaderScan>;

/** What a run needs. */
export interface RunDeps extends EffectDeps {
  /** The configuration that this pod applies. */
  readonly config: () => RuntimeConfig;
  readonly scan: OpenScan;
  /** @see ContractRules.rejectsUndeclared */
  readonly rejectsUndeclared: ContractRules["rejectsUndeclared"];
  /** Reads the recorded attempts for an event. */
  readonly attempts: (event: StoredEvent) => Promise<readonly AttemptRecord[]>;
  readonly save: (job: PreviewJob) => Promise<void>;
  /** False when another pod runs previews now. */
  readonly isOwner: () => boolean;
  readonly ending: AbortSignal;
}

/** Events of one step. */
export const stepEventsMax = 3_000;
/** Events of one step that reads their bodies, so that it holds few of them. */
export const stepBodiesMax = 100;
/** Time of one step with its pause. At 100,000 events in 17 seconds, the steps take a few percent of a core. */
const stepMs = 500;
const saveMs = 1_000;
const restartsMax = 3;
/** Events of one preview whose attempts are read, and of one read. Each is a request. */
const attemptEventsMax = 2_000;
const attemptsAtOnce = 25;
const attemptsPauseMs = 50;
/** Events of one preview. */
export const eventsMax = 1_000_000;
/** Subjects of one consumer. A caller of more tenants reads all events and drops those of others. */
const subjectsMax = 32;

/**
 * Counts the effect on recorded events until the end of the window, in steps with pauses. Resolves with the last state:
 * an unfinished one when this pod has to stop. A stored state continues where it ended. A changed configuration begins
 * the count again.
 */
export async function runPreview(deps: RunDeps, stored: PreviewJob, edit: Edit): Promise<PreviewJob> {
  let job: PreviewJob = { ...stored, status: "running" };
  while (isRunning(deps, job)) {
    job = await onPresentBase(deps, job, edit);
    if (job.status === "running") job = await count(deps, job, edit);
  }
  return job;
}

function isRunning({ isOwner, ending }: RunDeps, { status }: PreviewJob): boolean {
  return status === "running" && isOwner() && !ending.aborted;
}

/** The job on the configuration of now. */
async function onPresentBase(deps: RunDeps, job: PreviewJob, edit: Edit): Promise<PreviewJob> {
  const base = deps.config();
  const identity = configIdentity(base);
  if (identity === job.base) return job;
  const restarts = job.restarts + Number(job.cursor > 0);
  const detail = "The configuration kept changing during the preview; try again later.";
  if (restarts > restartsMax) return { ...job, status: "failed", detail };
  const effects = await effectsOf(deps, base, editedConfig(base, edit), job);
  const empty = { cursor: 0, tally: noMatches(), attempts: noAttempts(), contracts: noContracts() };
  return { ...job, base: identity, restarts, ...effects, ...empty };
}

async function count(deps: RunDeps, job: PreviewJob, edit: Edit): Promise<PreviewJob> {
  const base = deps.config();
  const isVisible = (label: string): boolean => mayNamePartner(job, label);
  const edited = editedConfig(base, edit).config;
  const changes = createMatchChanges(base, edited, isVisible);
  const attempts = createAttemptChanges(base, edited);
  const rules = { rejectsUndeclared: deps.rejectsUndeclared, nowMs: Date.parse(job.createdAt) };
  // A caller that is narrowed to partners learns nothing of fields that these do not get.
  const contracts = isNarrowed(job) ? undefined : createContractChanges(base, edited, rules);
  const withBodies = contracts !== undefined || [base, edited].some(hasMatchers);
  const scan = await deps.scan(scanned(job.tenants), { from: startOf(job), withBodies });
  try {
    return await countSteps(deps, job, base, { scan, changes, attempts, contracts, withBodies });
  } finally {
    await scan.close();
  }
}

function hasMatchers({ partners }: RuntimeConfig): boolean {
  return partners.some(({ subscriptions }) => subscriptions.some(({ selects }) => selects?.matchers !== undefined));
}

/** The tenants that the consumer selects. */
function scanned(tenants: readonly string[]): readonly string[] {
  return tenants.includes(anyTenant) || tenants.length > subjectsMax ? [anyTenant] : tenants;
}

function startOf({ cursor, window }: PreviewJob): ScanStart["from"] {
  return cursor > 0 ? { seq: cursor } : { atMs: window?.fromMs ?? 0 };
}

interface Count {
  readonly scan: HeaderScan;
  readonly changes: MatchChanges;
  readonly attempts: AttemptChanges;
  /** Undefined if the edit changes no contract and no payload. */
  readonly contracts: ContractChanges | undefined;
  readonly withBodies: boolean;
}

function stepMaxOf({ withBodies }: Count): number {
  return withBodies ? stepBodiesMax : stepEventsMax;
}

/** Ends with the window, the limit, this pod, or the configuration. */
async function countSteps(deps: RunDeps, begun: PreviewJob, base: RuntimeConfig, one: Count): Promise<PreviewJob> {
  const { tally, attempts, contracts = noContracts() } = structuredClone(begun);
  let job: CountedJob = { ...begun, tally, attempts, contracts };
  let savedMs = performance.now();
  while (isRunning(deps, job) && deps.config() === base) {
    const startedMs = performance.now();
    const { cursor, isEnd, affected } = await step(job, one);
    await readAttempts(deps, job, one, affected);
    const isCut = !isEnd && job.tally.events >= eventsMax;
    job = { ...job, cursor, status: isEnd || isCut ? "completed" : "running", ...(isCut ? { isCut } : {}) };
    if (job.status === "completed") break;
    if (performance.now() - savedMs >= saveMs) {
      await deps.save(job);
      savedMs = performance.now();
    }
    const paceMs = (stepMs * stepMaxOf(one)) / stepEventsMax;
    await pause(deps, Math.max(paceMs / 2, paceMs - (performance.now() - startedMs)));
  }
  return job;
}

async function pause({ ending }: RunDeps, pauseMs: number): Promise<void> {
  await sleep(pauseMs, undefined, { signal: ending }).catch(() => undefined);
}

/** Judges the attempts for affected events, up to the limit of a preview. */
async function readAttempts(
  deps: RunDeps,
  { attempts: tally }: PreviewJob,
  { changes, attempts }: Count,
  affected: readonly StoredEvent[],
): Promise<void> {
  const wanted = affected.slice(0, Math.max(0, attemptEventsMax - tally.events));
  tally.skipped += affected.length - wanted.length;
  for (let start = 0; start < wanted.length; start += attemptsAtOnce) {
    if (start > 0) await pause(deps, attemptsPauseMs);
    const some = wanted.slice(start, start + attemptsAtOnce);
    const records = await Promise.all(some.map((event) => deps.attempts(event)));
    for (const [index, event] of some.entries()) {
      attempts.add(tally, changes.of(event), records[index] ?? [], event.acceptedAtMs);
      tally.events += 1;
    }
  }
}

/** A job with all its tallies. */
type CountedJob = PreviewJob & Required<Pick<PreviewJob, "contracts">>;

/** The facts of an event, if it is of one of the tenants. */
function visibleEvent(message: ScannedMessage, tenants: readonly string[]) {
  const event = readRecordedEvent(message);
  return event !== undefined && includesTenant(tenants, event.tenant) ? event : undefined;
}

async function step({ tenants, window, cursor, tally, contracts: contractTally }: CountedJob, one: Count) {
  const { scan, changes, attempts, contracts, withBodies } = one;
  const stepMax = stepMaxOf(one);
  const messages = await scan.next(stepMax);
  const inside = messages.slice(0, countInside(messages, window));
  const affected: StoredEvent[] = [];
  for (const message of inside) {
    const event = visibleEvent(message, tenants);
    if (event === undefined) continue;
    const difference = changes.take(withBodies ? { ...event, body: message.data } : event);
    const isAffected = attempts.isAffected(difference);
    const stored = isAffected || contracts !== undefined ? readEvent(message) : undefined;
    if (stored === undefined) continue;
    contracts?.addTo(contractTally, stored, difference.before);
    if (isAffected) affected.push(stored);
  }
  changes.addTo(tally);
  const last = inside.at(-1);
  return {
    cursor: last === undefined ? cursor : last.seq + 1,
    isEnd: inside.length < stepMax,
    affected,
  };
}

/** Messages before the end of the window. Without a time, the last one tells about most steps. */
function countInside(messages: readonly ScannedMessage[], window: PreviewJob["window"]): number {
  const { toMs, lastSeq = 0 } = window ?? {};
  if (toMs === undefined && (messages.at(-1)?.seq ?? 0) <= lastSeq) return messages.length;
  const end = messages.findIndex(
    ({ seq, storedAtMs }) => storedAtMs >= (toMs ?? Number.POSITIVE_INFINITY) || seq > lastSeq,
  );
  return end === -1 ? messages.length : end;
}
