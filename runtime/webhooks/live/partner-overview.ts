import type { PartnerHealth } from "../../../api/partner-health.ts";
import type { ConfigurationPlace, PartnerSummary } from "../../../api/partners.ts";
import { orEventsUnavailable } from "../../errors/api-error.ts";
import type { EventIndex } from "../event-index/event-index.ts";
import { createFindBlock, disabledBlock, type FindBlock } from "../history/find-block.ts";
import type { PartnerAccess } from "../history/history-view.ts";
import { failingShare, type PartnerFigures, readPartnerFigures } from "../history/partner-figures.ts";
import { type PartnerList, type PartnerPage, type PartnerQuery, seesAll } from "../history/partner-list.ts";
import type { DisabledPartners, PartnerHolds } from "../partners/partner-holds.ts";
import type { ConfigFolder, Partner } from "../partners/partner.ts";
import type { LiveStates } from "./live-state.ts";
import type { DeliveryWait } from "../../../api/histories.ts";

/** Partners with their health and figures, for callers. */
export interface PartnerOverview {
  /** As {@link PartnerList.page}, with figures. @throws ApiError `events_unavailable` */
  page(query: PartnerQuery & Pick<OverviewCaller, "showsInternals">): Promise<PartnerPage>;
  /** Adds figures to partners of the list, which the caller may see. @throws ApiError `events_unavailable` */
  withFigures(summaries: readonly PartnerSummary[], caller: OverviewCaller): Promise<readonly PartnerSummary[]>;
}

interface OverviewCaller extends PartnerAccess {
  readonly tenants: readonly string[];
  /** True if paths of this machine are shown. @default false */
  readonly showsInternals?: boolean;
}

interface PartnerOverviewDeps {
  readonly partners: () => readonly Partner[];
  readonly index: EventIndex;
  readonly disabled: Pick<DisabledPartners, "list">;
  readonly holds: Pick<PartnerHolds, "keys" | "read">;
  readonly live: Pick<LiveStates, "backlogs">;
  /** @default the configuration is in a cluster */
  readonly configFolder?: ConfigFolder | undefined;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

export function createPartnerOverview(list: Pick<PartnerList, "page">, deps: PartnerOverviewDeps): PartnerOverview {
  const withFigures: PartnerOverview["withFigures"] = async (summaries, { tenants, showsInternals = false }) => {
    const nowMs = deps.now();
    const labels = new Set(summaries.map(({ partner }) => partner));
    const applied = new Map(
      deps.partners().flatMap((partner) => (labels.has(partner.label) ? [[partner.label, partner] as const] : [])),
    );
    const visible = [...applied.values()].filter((partner) => seesAll(partner, tenants));
    const [figures, findBlock, backlogs] = await orEventsUnavailable(() =>
      Promise.all([
        readPartnerFigures(deps.index, { tenants, partners: labels, nowMs }),
        readBlocks(deps),
        deps.live.backlogs(visible),
      ]),
    );
    const complete = async (summary: PartnerSummary): Promise<PartnerSummary> => {
      const [partner, known] = [applied.get(summary.partner), figures.get(summary.partner)];
      if (known === undefined) return summary;
      return {
        ...summary,
        health: partner === undefined ? rejectedHealth(summary) : await readHealth(partner, known, findBlock),
        recent: known.recent,
        last_failure: known.lastFailure,
        backlog: partner === undefined ? null : (backlogs.get(partner.key) ?? null),
        next_key_to_expire: nextToExpire(summary, nowMs),
        ...(partner === undefined ? { managed_by: placeOf(deps.configFolder, summary.partner, showsInternals) } : {}),
      };
    };
    return orEventsUnavailable(() => Promise.all(summaries.map(complete)));
  };
  return {
    withFigures,
    page: async (query) => {
      const page = await list.page(query);
      return { ...page, items: await withFigures(page.items, query) };
    },
  };
}

/** Where a partner is edited. @param showsInternals for administrators */
export function placeOf(
  folder: ConfigFolder | undefined,
  partner: string,
  showsInternals: boolean,
): ConfigurationPlace {
  if (folder === undefined) return { source: "kubernetes", folder: null };
  const { path, program, fileOf } = folder;
  if (!showsInternals) return { source: "folder", folder: null, file: null, program };
  return { source: "folder", folder: path, file: fileOf(partner) ?? null, program };
}

async function readHealth(partner: Partner, figures: PartnerFigures, findBlock: FindBlock): Promise<PartnerHealth> {
  return partnerHealth({ block: await findBlock(partner), figures });
}

/**
 * Reads all marks and the keys of all pauses at once, and then only the pauses of partners that have one. As in
 * `state`, a disabled partner is not paused.
 */
async function readBlocks({ disabled, holds, now }: PartnerOverviewDeps): Promise<FindBlock> {
  const [marks, paused] = await Promise.all([disabled.list(), holds.keys()]);
  const markOf = new Map(marks.map((mark) => [`${mark.uid} ${mark.specDigest}`, mark]));
  const findBlock = createFindBlock({
    disabled: { find: async () => undefined },
    holds: { read: async (partner) => (paused.has(partner.key) ? holds.read(partner) : undefined) },
    now,
  });
  return async (partner) => {
    const { uid, specDigest, held } = partner.config;
    const mark = held === undefined ? markOf.get(`${uid} ${specDigest}`) : undefined;
    return mark === undefined ? findBlock(partner) : disabledBlock(mark);
  };
}

function nextToExpire(
  { keys }: PartnerSummary,
  nowMs: number,
): NonNullable<PartnerSummary["next_key_to_expire"]> | null {
  const ends = keys.flatMap(({ id, not_after: at }) =>
    at !== null && Date.parse(at) > nowMs ? { id, not_after: at } : [],
  );
  return ends.toSorted((a, b) => Date.parse(a.not_after) - Date.parse(b.not_after))[0] ?? null;
}

/** Attempts below which a share says little. */
const attemptsMin = 3;

/** The parts of a partner that decide. */
interface PartnerFacts {
  readonly rejected: PartnerSummary["rejected"];
  /** What keeps all of its deliveries waiting; undefined for nothing. */
  readonly block: DeliveryWait | undefined;
  readonly figures: Pick<PartnerFigures, "latest" | "failedSinceSuccess" | "succeededSinceFailure" | "failingSinceMs">;
}

/** The health of an applied partner. What stops all deliveries comes before failures. */
export function partnerHealth({ block, figures }: Omit<PartnerFacts, "rejected">): PartnerHealth {
  return (block === undefined ? undefined : blockedHealth(block)) ?? deliveredHealth(figures);
}

/** The health of a partner whose definition was never applied. */
export function rejectedHealth({ rejected }: Pick<PartnerFacts, "rejected">): PartnerHealth {
  const reason = rejected === null ? null : [rejected.reason, ...(rejected.message === null ? [] : [rejected.message])];
  return { kind: "rejected", reason: reason === null ? null : reason.join(": "), since: null, until: null };
}

/** Undefined for a wait that is about a single delivery. */
function blockedHealth({ kind, reason, since, until }: DeliveryWait): PartnerHealth | undefined {
  switch (kind) {
    case "held":
    case "paused":
    case "disabled":
    case "circuit_open":
    case "rate_limited":
      return { kind, reason, since, until };
    case "keyless":
      return { kind: "held", reason, since, until };
    case "retry":
    case "turn":
      return undefined;
  }
}

function deliveredHealth(figures: PartnerFacts["figures"]): PartnerHealth {
  const { failingSinceMs } = figures;
  const reason = failureReason(figures);
  if (reason === undefined) return { kind: "healthy", reason: null, since: null, until: null };
  const since = failingSinceMs === undefined ? null : new Date(failingSinceMs).toISOString();
  return { kind: "failing", reason, since, until: null };
}

function failureReason(figures: PartnerFacts["figures"]): string | undefined {
  const { latest, failedSinceSuccess, succeededSinceFailure: succeeded } = figures;
  const { attempts, failed } = latest;
  if (attempts >= attemptsMin) {
    if (failed < failingShare * attempts) return undefined;
    const since = succeeded === 0 ? "" : `; the last ${succeeded} succeeded`;
    return `${failed} of ${attempts} attempts failed in the last 15 min${since}`;
  }
  return failedSinceSuccess >= attemptsMin
    ? `${failedSinceSuccess} attempts failed since the last success, none succeeded`
    : undefined;
}
