import type {
  Preview,
  PreviewedAttempts,
  PreviewedEvents,
  PreviewedQueries,
  PreviewedReaders,
  PreviewedResources,
} from "../../api/previews.ts";
import { isNarrowed, mayNamePartner, type PartnerAccess } from "../webhooks/history/history-view.ts";
import { includesTenant } from "../webhooks/ids.ts";
import type { AttemptTally } from "./attempt-changes.ts";
import { noContracts, type ContractTally } from "./contract-changes.ts";
import type { MatchTally, PartnerTally } from "./match-changes.ts";

/** The caller of a preview, with its access. */
export interface PreviewCaller extends PartnerAccess {
  readonly client: string;
  /** `*`: all tenants. */
  readonly tenants: readonly string[];
  /** Metrics of which recorded queries are shown; `*`: all. @default none */
  readonly metrics?: readonly string[];
  /** True if the usage of all clients is shown. @default only that of the client */
  readonly seesAllUsage?: boolean;
}

/** The events of a preview. */
export interface PreviewWindow {
  readonly fromMs: number;
  /** Exclusive. @default only {@link lastSeq} ends it */
  readonly toMs?: number;
  /** Sequence of the last event that was stored at the start of the preview. */
  readonly lastSeq: number;
}

/** A stored preview with its progress. Its members are a stored form. */
export interface PreviewJob extends PreviewCaller {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly status: Preview["status"];
  /** Digest of the configuration that the edit is compared with. */
  readonly base: string;
  readonly prune: boolean;
  readonly effect: PreviewedResources;
  /** Absent for a caller who may see no queries. */
  readonly queries?: PreviewedQueries;
  /** Absent for a caller who may see no queries. */
  readonly readers?: PreviewedReaders;
  /** Absent without a window: only resources are compared. Unix milliseconds by JetStream's clock. */
  readonly window?: PreviewWindow;
  /** Sequence of the next event; 0 before the first. */
  readonly cursor: number;
  readonly tally: MatchTally;
  readonly attempts: AttemptTally;
  /** Absent until events are read that the edit may reject or change. */
  readonly contracts?: ContractTally;
  /** Time of the oldest stored event, Unix milliseconds; absent without events. */
  readonly oldestEventMs?: number;
  /** The same of the oldest stored attempt. */
  readonly oldestAttemptMs?: number;
  /** True when the limit of events ended the count. */
  readonly isCut?: boolean;
  /** How often the configuration changed during the count, which began again each time. */
  readonly restarts: number;
  /** Why the preview failed. */
  readonly detail?: string;
}

/** The effect on the routing of some events. */
export interface MatchEffect extends Pick<PreviewedEvents, "read" | "deliveries" | "unrouted"> {
  readonly partners: readonly Omit<PreviewedEvents["partners"][number], "rejected" | "changed">[];
}

/** True when the preview has ended. */
export function isOver({ status }: Pick<PreviewJob, "status">): boolean {
  return status === "completed" || status === "failed";
}

/** True when a caller may read a preview, which requires access to all its tenants and partners. */
export function mayReadPreview(job: PreviewJob, caller: PreviewCaller): boolean {
  const mayReadTenants = job.tenants.every((tenant) => includesTenant(caller.tenants, tenant));
  if (!mayReadMetrics(job, caller) || !mayReadReaders(job, caller)) return false;
  if (!isNarrowed(caller)) return mayReadTenants;
  return mayReadTenants && isNarrowed(job) && job.partners.every((label) => mayNamePartner(caller, label));
}

function mayReadMetrics({ queries, metrics = [] }: PreviewJob, caller: PreviewCaller): boolean {
  const own = caller.metrics ?? [];
  return queries === undefined || own.includes("*") || metrics.every((id) => own.includes(id));
}

/** Usage is that of all clients, or of the client that requested the preview. */
function mayReadReaders({ readers, client }: PreviewJob, caller: PreviewCaller): boolean {
  if (readers === undefined || readers.removed.length === 0) return true;
  return caller.seesAllUsage === true || (client === caller.client && readers.clients_shown === "own");
}

/** The response for a caller. */
export function previewResponse(job: PreviewJob): Preview {
  const { id, status, createdAt, base, effect, queries = null, detail = null, readers } = job;
  const events = eventEffect(job);
  const about = { preview_id: id, status, created_at: createdAt, base };
  return { ...about, resources: effect, events, queries, detail, ...(readers === undefined ? {} : { readers }) };
}

function eventEffect(job: PreviewJob): PreviewedEvents | null {
  const { window, tally, oldestEventMs } = job;
  if (window === undefined) return null;
  return {
    from: new Date(window.fromMs).toISOString(),
    to: window.toMs === undefined ? job.createdAt : new Date(window.toMs).toISOString(),
    oldest_event: oldestEventMs === undefined ? null : new Date(oldestEventMs).toISOString(),
    complete: job.status === "completed" && job.isCut !== true,
    attempts: attemptEffect(job),
    simulated: null,
    ...wholeEffect(tally, job.contracts),
  };
}

function attemptEffect({ attempts: { events, skipped, partners }, oldestAttemptMs }: PreviewJob): PreviewedAttempts {
  const sorted = Object.entries(partners).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    oldest_attempt: oldestAttemptMs === undefined ? null : new Date(oldestAttemptMs).toISOString(),
    events,
    skipped,
    partners: sorted.map(([partner, { exact, moved, gone, wouldRetry, wouldEnd }]) => {
      return { partner, exact, moved, gone, would_retry: wouldRetry, would_end: wouldEnd };
    }),
  };
}

/** The effect on contracts and payloads, by partner, and on routing. */
function wholeEffect(
  tally: MatchTally,
  { rejected, accepted, types, partners }: ContractTally = noContracts(),
): Pick<PreviewedEvents, "read" | "rejected" | "deliveries" | "unrouted" | "partners"> {
  const rows = types.map(({ events: count, ...row }) => ({ ...row, count }));
  const figuresOf = (label: string) => partners[label] ?? { rejected: 0, changed: 0 };
  const matches = matchEffect(tally, new Set(Object.keys(partners)));
  return {
    ...matches,
    rejected: { count: rejected, accepted, types: rows.toSorted((one, other) => other.count - one.count) },
    partners: matches.partners.map((one) => ({ ...one, ...figuresOf(one.partner) })),
  };
}

/** A tally in the form for callers. @param also partners that are listed without a change of their events */
export function matchEffect(
  { events, before, after, unroutedBefore, unroutedAfter, partners }: MatchTally,
  also: ReadonlySet<string> = new Set(),
): MatchEffect {
  return {
    read: events,
    deliveries: { before, after },
    unrouted: { before: unroutedBefore, after: unroutedAfter },
    partners: Object.entries(partners)
      .filter(([label, { gained, lost }]) => gained + lost > 0 || also.has(label))
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([partner, tallied]) => partnerEffect(partner, tallied)),
  };
}

function partnerEffect(partner: string, { before, after, gained, lost, gainedIds, lostIds }: PartnerTally) {
  return { partner, before, after, gained, lost, gained_ids: gainedIds, lost_ids: lostIds };
}
