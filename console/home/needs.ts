import type { Slo } from "../../api/objectives.ts";
import type { PartnerDetail, PartnerSummary } from "../../api/partners.ts";
import type { DeadLetterCount } from "../../api/replays.ts";
import type { HealthAnswer } from "../../api/catalog.ts";
import { formatCount, formatMissing, formatNumber, formatShare, formatWord } from "../components/format.ts";
import { budgetLeft, objectivePath } from "../objectives/objective-view.ts";
import { failureWords, partnerFailureWords } from "../partners/latest-failure.ts";
import { changedQuery } from "../router/place.ts";
import { partnerPath } from "../webhooks/links.tsx";

/** Something that needs attention. */
export interface Need {
  readonly key: string;
  /** State of the API that gives the tone. */
  readonly state: string;
  /** What it is about: a partner, an objective. */
  readonly subject: string;
  readonly reason: string;
  /** ISO 8601, in the future for what is about to happen; null if unknown. */
  readonly since: string | null;
  /** True if it began after that time, and the exact time is unknown. @default false */
  readonly isAfter?: boolean;
  /** ISO 8601, the earliest time at which it ends. @default unknown */
  readonly until?: string;
  /** Where it can be solved. */
  readonly to: string;
}

/** States, the most severe first. Equal states are listed by their age. */
const severity = [
  "down",
  "rejected",
  "disabled",
  "open",
  "circuit_open",
  "failing",
  "critical",
  "dead",
  "held",
  "half_open",
  "rate_limited",
  "expiring",
  "degraded",
  "increasing",
  "paused",
];

/** Orders needs: the most severe first, then the oldest. */
export function bySeverity(needs: readonly Need[]): readonly Need[] {
  const rank = ({ state }: Need): number => severity.indexOf(state);
  const age = ({ since }: Need): string => since ?? "~";
  return needs.toSorted((a, b) => rank(a) - rank(b) || (age(a) < age(b) ? -1 : 1));
}

const stateReasons: Readonly<Record<string, string>> = {
  rejected: "the configuration is rejected, so no event is routed to it",
  disabled: "the endpoint responded with 410, so nothing is sent",
  held: "deliveries are held",
  paused: "deliveries are paused",
};

const healthReasons: Readonly<Record<string, string>> = {
  ...stateReasons,
  circuit_open: "the circuit breaker is open",
  rate_limited: "a Retry-After of the endpoint pauses deliveries",
};

/** Partners whose health the server returns, unless they are healthy. */
export function healthNeeds(partners: readonly PartnerSummary[]): readonly Need[] {
  return partners.flatMap((summary) => {
    const { partner, health } = summary;
    if (health === undefined || health.kind === "healthy") return [];
    const { kind, reason, since, until } = health;
    const parts = [healthReasons[kind], reasonWords(reason)].filter((part) => part !== undefined).join(": ");
    const failure = partnerFailureWords(summary);
    return {
      key: `${kind} ${partner}`,
      state: kind,
      subject: partner,
      reason: failure === undefined ? parts : `${parts}; ${failure}`,
      since,
      ...(until === null ? {} : { until }),
      to: partnerPath(partner),
    };
  });
}

/** Reasons that the sentence of their state contains. */
const saidReasons: ReadonlySet<string> = new Set(["status_410", "unresolved", "Retry-After"]);

/** A reason without what the sentence before it has said; undefined if nothing is left. */
function reasonWords(reason: string | null): string | undefined {
  if (reason === null || saidReasons.has(reason)) return undefined;
  return formatMissing(reason);
}

/** True if the server returns the health of a partner, which is then all that is said about it. */
export function hasHealth({ health }: PartnerSummary): boolean {
  return health !== undefined;
}

/** Partners that get nothing now. */
export function partnerNeeds(partners: readonly PartnerSummary[]): readonly Need[] {
  return partners
    .filter(({ state }) => Object.hasOwn(stateReasons, state))
    .map(({ partner, state, reason, rejected }) => {
      const why = reasonWords(reason ?? rejected?.reason ?? null);
      const text = stateReasons[state] ?? "";
      return {
        key: `${state} ${partner}`,
        state,
        subject: partner,
        reason: why === undefined ? text : `${text}: ${why}`,
        since: null,
        to: partnerPath(partner),
      };
    });
}

const hourMs = 3_600_000;
const expiryShownMs = 48 * hourMs;
/** Of the last key: afterwards nothing can be signed. */
const lastExpiryShownMs = 168 * hourMs;

/** Partners with a signing key that expires within 48 hours, or within 7 days if no key stays valid. */
export function keyNeeds(partners: readonly PartnerSummary[], nowMs: number): readonly Need[] {
  return partners.flatMap(({ partner, keys, next_key_to_expire: key }) => {
    if (key === undefined || key === null) return [];
    const valid = keys.filter(({ not_after: at }) => at === null || Date.parse(at) > nowMs);
    const later = valid.filter(({ not_after: at }) => at === null || Date.parse(at) > Date.parse(key.not_after));
    const leftMs = Date.parse(key.not_after) - nowMs;
    if (leftMs > (later.length === 0 ? lastExpiryShownMs : expiryShownMs)) return [];
    const what = `the signing key ${key.id} expires`;
    const next = later[0]?.id;
    return {
      key: `key ${partner} ${key.id}`,
      state: "expiring",
      subject: partner,
      reason: next === undefined ? `${what}, and deliveries are held afterwards` : `${what}; ${next} stays valid`,
      since: key.not_after,
      to: partnerPath(partner),
    };
  });
}

/** Partners whose circuit breaker lets nothing through, or little. */
export function breakerNeeds(partners: readonly PartnerDetail[]): readonly Need[] {
  return partners
    .filter(({ live }) => live.known && live.breaker !== null && live.breaker !== "closed")
    .map(({ partner, live }) => ({
      key: `breaker ${partner}`,
      state: live.breaker ?? "open",
      subject: partner,
      reason:
        live.breaker === "rate_limited"
          ? "a Retry-After of the endpoint pauses deliveries"
          : `the circuit breaker is ${formatWord(live.breaker ?? "open")}`,
      since: live.oldest_due_at,
      to: partnerPath(partner),
    }));
}

/** Dead letters, a line for each partner, the most frequent reason first. */
export function deadLetterNeeds(counts: readonly DeadLetterCount[]): readonly Need[] {
  const byPartner = Map.groupBy(
    counts.filter(({ count }) => count > 0),
    (letter) => letter.partner,
  );
  return [...byPartner].map(([partner, unsorted]) => {
    const letters = unsorted.toSorted((a, b) => b.count - a.count);
    const [first] = letters;
    const total = letters.reduce((sum, { count }) => sum + count, 0);
    const isOne = letters.length === 1;
    const reasons = letters.map(({ reason, count }) => (isOne ? "" : `${formatNumber(count)} `) + formatWord(reason));
    const failure = letters.map(({ last_failure: one }) => failureWords(one)).find((words) => words !== undefined);
    const what = `${formatCount(total, "dead letter")}, ${shortList(reasons)}`;
    const only = { partner, reason: isOne ? (first?.reason ?? null) : null };
    const since = letters.map(({ oldest_at: at }) => at).toSorted((a, b) => (a < b ? -1 : 1))[0] ?? null;
    return {
      key: `letters ${partner}`,
      state: "dead",
      subject: partner,
      reason: failure === undefined ? what : `${what}; ${failure}`,
      since,
      to: `/dead-letters${changedQuery(new URLSearchParams(), only)}`,
    };
  });
}

const reasonsShownMax = 3;

function shortList(texts: readonly string[]): string {
  const shown = texts.slice(0, reasonsShownMax);
  return [...shown, ...(texts.length > shown.length ? [`${texts.length - shown.length} more`] : [])].join(", ");
}

/** True if the error budget of an objective is spent too fast. */
export function isBurningFast({ status }: Slo): boolean {
  return status === "critical" || status === "increasing";
}

/** Objectives whose error budget is spent too fast. @param since after which time, by the path of the objective */
export function objectiveNeeds(
  objectives: readonly Slo[],
  since: ReadonlyMap<string, string> = new Map(),
): readonly Need[] {
  return objectives.filter(isBurningFast).map((objective) => ({
    key: `objective ${objectivePath(objective, new URLSearchParams())}`,
    state: objective.status,
    subject: `${objective.title ?? objective.name} (${objective.tenant})`,
    reason: budgetText(budgetLeft(objective)),
    since: since.get(objectivePath(objective, new URLSearchParams())) ?? null,
    isAfter: true,
    to: objectivePath(objective, new URLSearchParams()),
  }));
}

function budgetText(left: number | undefined): string {
  if (left === undefined) return "error budget burning";
  if (left < 0) return `error budget burning, overspent by ${formatShare(-left)}`;
  return `error budget burning, ${formatShare(left)} left`;
}

/** The metrics API, unless it is healthy. */
export function metricsNeeds({ status, stores }: HealthAnswer): readonly Need[] {
  if (status === "ok") return [];
  const failing = stores.filter(({ state }) => state === "failing").map(({ name }) => name);
  const reason = failing.length === 0 ? "stores or caches fail" : `failing stores: ${failing.join(", ")}`;
  return [{ key: "metrics", state: status, subject: "Metrics API", reason, since: null, to: "/explorer" }];
}
