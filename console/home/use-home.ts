import type { HealthAnswer } from "../../api/catalog.ts";
import type { DeliveryStats } from "../../api/delivery-stats.ts";
import type { Slo, SloHistoryAnswer } from "../../api/objectives.ts";
import type { PartnerDetail, PartnerSummary } from "../../api/partners.ts";
import type { DeadLetterCount } from "../../api/replays.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import type { ListPage } from "../api/types.ts";
import { type ReadState, useRead } from "../api/use-read.ts";
import { useNow } from "../components/timestamp.tsx";
import { burnOnset, historyPath, objectivePath, worstFirst } from "../objectives/objective-view.ts";
import { type Objectives, useObjectives } from "../objectives/use-objectives.ts";
import { changedQuery, pathTo } from "../router/place.ts";
import { twoDays } from "./delivery-day.ts";
import {
  breakerNeeds,
  bySeverity,
  deadLetterNeeds,
  hasHealth,
  healthNeeds,
  isBurningFast,
  keyNeeds,
  metricsNeeds,
  type Need,
  objectiveNeeds,
  partnerNeeds,
} from "./needs.ts";
import type { ApiClient } from "../api/client.ts";
import { isAbort, type Problem, problemOfError } from "../api/problem.ts";
import { readPartners } from "../api/read-partners.ts";

/** The scopes of the metrics API; one is enough. */
export const metricScopes = ["metrics:read", "metrics:read.public"];
const everySeconds = 30;
const minuteMs = 60_000;

export type Counts = ListPage<DeadLetterCount, { readonly complete: boolean }>;
export type KnownPartners = Partners & { readonly all: NonNullable<Partners["all"]> };

/** What Home reads. Each part can be missing: the token may not read it, or an older pod does not have it. */
export interface Home {
  readonly partners: ReadState<KnownPartners>;
  readonly details: readonly PartnerDetail[];
  readonly counts: ReadState<Counts>;
  readonly health: ReadState<HealthAnswer>;
  /** Of the tenants of the token. */
  readonly objectives: Objectives;
  /** The last 24 hours in intervals of 15 minutes. */
  readonly today: ReadState<DeliveryStats>;
  /** The 24 hours before them. */
  readonly before: ReadState<DeliveryStats>;
  /** The most severe first. */
  readonly needs: readonly Need[];
  /** What could not be checked, in words. */
  readonly unknown: readonly string[];
  /** False while something is read for the first time. */
  readonly isKnown: boolean;
  readonly refresh: () => void;
}

/** Reads what Home shows. */
export function useHome(): Home {
  const { me } = useSession();
  const [turn, setTurn] = useState(0);
  const nowMs = useNow(minuteMs);
  const partners = usePartners(turn);
  const allowed = (scopes: readonly string[], path: string): string | undefined =>
    mayUse(me, scopes) ? path : undefined;
  const counts = useRead<Counts>(allowed(["webhooks:read"], "/webhooks/dead-letters/counts"), { everySeconds });
  const health = useRead<HealthAnswer>(allowed(metricScopes, "/v1/metrics/health"), { everySeconds });
  const objectives = useObjectives({}, mayUse(me, metricScopes));
  const { today: todayWindow, before: beforeWindow } = twoDays(nowMs);
  const today = useRead<DeliveryStats>(allowed(["webhooks:read"], dayPath(todayWindow)), { everySeconds: 60 });
  const before = useRead<DeliveryStats>(allowed(["webhooks:read"], dayPath(beforeWindow)));
  const burningSince = useBurningSince(objectives.read.data);
  const needs = useMemo(
    () =>
      needsOf({
        partners,
        counts: counts.data,
        health: health.data,
        slos: objectives.read.data,
        burningSince,
        nowMs,
      }),
    [partners, counts.data, health.data, objectives.read.data, burningSince, nowMs],
  );
  const reads = [counts, health, today, before, ...(objectives.tenants === undefined ? [] : [objectives.read])];
  const refresh = (): void => {
    setTurn(turn + 1);
    for (const read of reads) read.refresh();
  };
  const { details, hasDetails, problem } = partners;
  const isKnown =
    (hasDetails || problem !== undefined) && reads.every(({ data, isReading }) => data !== undefined || !isReading);
  const read = readOf(partners, refresh);
  const unread = [
    ["dead letters", counts],
    ["the metrics API", health],
    ["objectives", objectives.read],
  ] as const;
  const unknown = unread.filter(([, one]) => hasFailed(one)).map(([name]) => name);
  return { partners: read, details, counts, health, objectives, today, before, needs, unknown, isKnown, refresh };
}

/** An earlier version has no such path, and a token may lack the scope: neither is a failure. */
function hasFailed({ data, problem }: ReadState<unknown>): boolean {
  return data === undefined && problem !== undefined && problem.status !== 404 && problem.status !== 403;
}

/**
 * After which time the budgets of the first burning objectives began to burn, by the path of the objective. A failed
 * read leaves the age out; the page of the objective says why.
 */
function useBurningSince(slos: readonly Slo[] | undefined): ReadonlyMap<string, string> {
  const [first, second, third] = useMemo(() => worstFirst((slos ?? []).filter(isBurningFast)), [slos]);
  const [one, two, three] = [useSince(first), useSince(second), useSince(third)];
  return useMemo(
    () => new Map([one, two, three].flatMap((since) => (since === undefined ? [] : [since]))),
    [one?.[1], two?.[1], three?.[1], first, second, third],
  );
}

function useSince(objective: Slo | undefined): readonly [path: string, since: string] | undefined {
  const none = new URLSearchParams();
  const { data, isStale } = useRead<SloHistoryAnswer>(
    objective === undefined ? undefined : historyPath(objective, none),
  );
  const since = data === undefined || isStale ? undefined : burnOnset(data)?.from;
  return objective === undefined || since === undefined ? undefined : [objectivePath(objective, none), since];
}

function dayPath(window: { readonly from: string; readonly to: string }): string {
  return `/webhooks/stats${changedQuery(new URLSearchParams(), { ...window, step: "15m" })}`;
}

interface Sources {
  readonly partners: Partners;
  readonly counts: Counts | undefined;
  readonly health: HealthAnswer | undefined;
  readonly slos: readonly Slo[] | undefined;
  readonly burningSince: ReadonlyMap<string, string>;
  readonly nowMs: number;
}

function needsOf({ partners, counts, health, slos, burningSince, nowMs }: Sources): readonly Need[] {
  const all = partners.all ?? [];
  const known = new Set(all.filter(hasHealth).map(({ partner }) => partner));
  const breakers = breakerNeeds(partners.details.filter(({ partner }) => !known.has(partner)));
  return bySeverity([
    ...healthNeeds(all),
    ...partnerNeeds(all.filter(({ partner }) => !known.has(partner))),
    ...breakers,
    ...keyNeeds(all, nowMs),
    ...deadLetterNeeds(counts?.data ?? []),
    ...(health === undefined ? [] : metricsNeeds(health)),
    ...objectiveNeeds(slos ?? [], burningSince),
  ]);
}

function readOf(partners: Partners, refresh: () => void): ReadState<KnownPartners> {
  const { all, problem } = partners;
  return {
    data: all === undefined ? undefined : { ...partners, all },
    problem,
    isReading: all === undefined && problem === undefined,
    isStale: all !== undefined && problem !== undefined,
    atMs: undefined,
    headers: undefined,
    missing: [],
    refresh,
  };
}

/** The partners that the reader sees, and what is known of their deliveries now. */
interface Partners {
  /** Undefined while they are read. */
  readonly all: readonly PartnerSummary[] | undefined;
  /** False when there are more than were read. */
  readonly isComplete: boolean;
  /** Details of the first active partners, as they arrive. */
  readonly details: readonly PartnerDetail[];
  /** True once the details were read. */
  readonly hasDetails: boolean;
  readonly problem: Problem | undefined;
}

/** Each takes a request, and a question to the pod that delivers. */
const detailsMax = 24;
const detailsAtOnce = 4;

/** Reads all partners in pages, then the live state of some of them. @param turn reads again when it changes */
function usePartners(turn: number): Partners {
  const { api } = useSession();
  const [partners, setPartners] = useState<Partners>({
    all: undefined,
    isComplete: true,
    details: [],
    hasDetails: false,
    problem: undefined,
  });
  useEffect(() => {
    const abort = new AbortController();
    const read = async (): Promise<void> => {
      const { all, isComplete } = await readPartners(api, abort.signal);
      setPartners((before) => ({ ...before, all, isComplete, problem: undefined }));
      const requested = all.filter(({ state }) => state === "active").slice(0, detailsMax);
      const details = await readDetails(api, requested, abort.signal);
      if (!abort.signal.aborted) setPartners((before) => ({ ...before, details, hasDetails: true }));
    };
    read().catch((error: unknown) => {
      if (abort.signal.aborted || isAbort(error)) return;
      setPartners((before) => ({ ...before, problem: problemOfError(error) }));
    });
    return () => abort.abort();
  }, [api, turn]);
  return partners;
}

/** A detail that cannot be read is left out: the page of the partner says why. */
async function readDetails(
  api: ApiClient,
  partners: readonly PartnerSummary[],
  signal: AbortSignal,
): Promise<readonly PartnerDetail[]> {
  const details: PartnerDetail[] = [];
  const waiting = [...partners];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
      const [namespace = "", name = ""] = next.partner.split("/", 2);
      const path = `/webhooks${pathTo("partners", namespace, name)}`;
      const detail = await api.read<PartnerDetail>(path, signal).catch(() => undefined);
      if (detail?.body.live !== undefined) details.push(detail.body);
      else waiting.length = 0;
    }
  };
  await Promise.all(Array.from({ length: detailsAtOnce }, work));
  return details;
}
