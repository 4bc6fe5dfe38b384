import { waitFor } from "../support/wait.ts";
import { readHistories, type History } from "../seams/histories.ts";
import type { SentEvent } from "../seams/traffic.ts";
import { losesPod, losesServer } from "./faults.ts";
import type { ConductedFault } from "./conductor.ts";
import type { Installation } from "./installation.ts";
import {
  counterFault,
  doubled,
  duringPause,
  excesses,
  heardUntil,
  isDelivered,
  isExcused,
  judgeDoubled,
  lapses,
  needless,
  silenceMs,
  silencesByVerb,
  undelivered,
  underWay,
  withTails,
  type LastScrape,
  type PastFault,
} from "./ledger.ts";
import { electedMs } from "./observed.ts";
import { retryAfterSeconds, type Partner } from "./partners.ts";

/** What a run leaves behind. */
export interface Evidence {
  readonly installation: Installation;
  readonly events: readonly SentEvent[];
  readonly faults: readonly ConductedFault[];
}

interface Account {
  readonly counts: Readonly<Record<string, unknown>>;
  /** Broken promises, in sentences. */
  readonly problems: readonly string[];
}

const shownMax = 5;
const heldReadMax = 50;
const doubledReadMax = 200;
const drainMsMax = 240_000;
/** The silence after a fault is looked for until so long after its end. */
const tailMsMax = 10_000;
/**
 * Longest silence of healthy partners after the loss of a server or a pod. A pod counts as gone a second and a half
 * after its last heartbeat (`lane-ownership.ts`). Elections may take longer than 8 s; then the time after them counts.
 */
const barMs = { server: 8_000, afterElection: 2_000, pod: 2_000 } as const;
const deliveriesStream = "HG_DELIVERIES";

/** Deliveries that are stored and wait. */
async function waiting({ servers }: Installation): Promise<number> {
  const streams = await servers.streams();
  return streams.find(({ config }) => config.name === deliveriesStream)?.state.messages ?? Number.POSITIVE_INFINITY;
}

/** Waits until nothing waits except for paused partners; returns what waits then. */
export async function untilDrained({
  installation,
  events,
}: Pick<Evidence, "installation" | "events">): Promise<number> {
  const held = installation.partners
    .filter(({ profile }) => profile.isPaused === true)
    .reduce((sum, partner) => sum + events.filter((event) => partner.wants(event)).length, 0);
  await waitFor(async () => (await waiting(installation)) <= held, {
    timeoutMs: drainMsMax,
    pollMs: 500,
    what: "no delivery to wait",
  }).catch(() => undefined);
  return waiting(installation);
}

/** Accounts for every accepted event at every partner. */
export async function account(evidence: Evidence): Promise<Account> {
  const { installation, events, faults } = evidence;
  const accepted = events.filter(({ acceptedMs }) => acceptedMs !== undefined);
  const owed = installation.partners.map((partner) => {
    const ids = accepted.filter((event) => partner.wants(event)).map(({ id }) => id);
    return { partner, ids, missing: undelivered(ids, partner.receipts) };
  });
  const asked = owed.flatMap(({ partner, missing }) =>
    partner.profile.isPaused === true ? missing.slice(-heldReadMax) : missing,
  );
  const urls = installation.pods.map(({ url }) => url);
  const histories = await readHistories(urls, installation.token, [...new Set(asked)]);
  const fates = owed.flatMap(({ partner, missing }) =>
    missing.filter((id) => asked.includes(id)).map((id) => fateOf(id, partner, histories.get(id))),
  );
  const recorded = await recordedAttempts(installation);
  const stalls = lapses([...installation.servers.observed.beatsMs.values()], faults);
  const excuses = [...faults, ...stalls];
  const doubles = installation.partners.map((partner) => ({ partner, ...judgeDoubled(partner.receipts, excuses) }));
  return {
    counts: {
      events: events.length,
      accepted: accepted.length,
      attempts: installation.partners.reduce((sum, { receipts }) => sum + receipts.length, 0),
      faults: faults.length,
      stalls: stalls.map(({ fromMs, toMs }) => `${sinceFirst(faults, fromMs)} for ${toMs - fromMs} ms`),
      fates: Object.fromEntries([...Map.groupBy(fates, ({ text }) => text)].map(([text, all]) => [text, all.length])),
      doubled: Object.fromEntries(
        doubles.map(({ partner, count, allowed }) => [partner.profile.name, `${count} of ${allowed}`]),
      ),
      needless: needlessTexts(evidence, recorded),
      silences: silencesByVerb(silencesOf(evidence)),
    },
    problems: [
      ...fates.flatMap(({ wrong }) => wrong ?? []),
      ...doubles.flatMap((one) => doubledProblems(one)),
      ...installation.partners.flatMap((partner) => partnerProblems(partner, excuses)),
      ...metricProblems(evidence, fates),
    ],
  };
}

/** Seconds since the first fault. */
function sinceFirst([first]: readonly PastFault[], atMs: number): string {
  return `${((atMs - (first?.fromMs ?? 0)) / 1_000).toFixed(1)} s`;
}

/** Repeats of attempts that were recorded each time, with their times since the first fault. */
function needlessTexts(
  { installation: { partners }, faults }: Evidence,
  recorded: Awaited<ReturnType<typeof recordedAttempts>>,
): Readonly<Record<string, readonly string[]>> {
  const texts = partners.map(({ profile, receipts }): [string, readonly string[]] => {
    const found = needless(doubled(receipts).slice(-doubledReadMax), receipts, recorded.get(profile.name) ?? new Map());
    const shown = found.slice(0, shownMax).map(({ first, again }) => {
      return `${first.eventId}: attempt ${again.attempt} at ${sinceFirst(faults, first.fromMs)} and ${sinceFirst(faults, again.fromMs)}`;
    });
    return [profile.name, found.length > shownMax ? [...shown, `${found.length} in all`] : shown];
  });
  return Object.fromEntries(texts.filter(([, found]) => found.length > 0));
}

/** Recorded attempts at each partner, by event id, of the last doubled ones. */
async function recordedAttempts({
  partners,
  pods,
  token,
}: Installation): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>> {
  const asked = partners.flatMap(({ receipts }) => doubled(receipts).slice(-doubledReadMax));
  const ids = [...new Set(asked.map(({ again }) => again.eventId))];
  const urls = pods.map(({ url }) => url);
  const histories = await readHistories(urls, token, ids);
  return new Map(
    partners.map(({ profile }) => {
      const byEvent = [...histories].map(([id, history]): [string, readonly number[]] => {
        const entry = history.deliveries.find(({ partner }) => partner === `default/${profile.name}`);
        return [id, (entry?.attempts ?? []).map(({ attempt }) => attempt)];
      });
      return [profile.name, new Map(byEvent)];
    }),
  );
}

interface Fate {
  readonly text: string;
  readonly endedMs?: number;
  readonly wrong?: string;
}

/** What the history says about an event that a partner did not take. */
function fateOf(id: string, { profile }: Partner, history: History | undefined): Fate {
  const label = `default/${profile.name}`;
  const entry = history?.deliveries.find(({ partner }) => partner === label);
  if (entry === undefined) return { text: "lost", wrong: `event ${id} is unknown at ${label}` };
  const { state, reason } = entry;
  const text = `${profile.name} ${reason === null ? state : `${state}/${reason}`}`;
  if (profile.isPaused === true)
    return ["held", "in_delivery"].includes(state) ? { text } : { text, wrong: `event ${id} is ${text}` };
  if (["dead", "rejected"].includes(state) && reason !== null) return { text, endedMs: endOf(entry) };
  return { text, wrong: `event ${id} was not delivered to ${label}, which has it as ${text}` };
}

function endOf({ attempts = [] }: History["deliveries"][number]): number {
  return Date.parse(attempts.at(-1)?.at ?? "");
}

function doubledProblems({
  partner: { profile },
  count,
  allowed,
  unexcused,
}: ReturnType<typeof judgeDoubled> & { readonly partner: Partner }): readonly string[] {
  const texts = unexcused.slice(0, shownMax).map(({ first, again }) => {
    const [one, two] = [first, again].map(
      ({ attempt, fromMs, toMs, status }) =>
        `attempt ${attempt} at ${new Date(fromMs).toISOString()} for ${toMs - fromMs} ms with ${status}`,
    );
    return `${profile.name} got event ${first.eventId} again without a fault: ${one}, then ${two}`;
  });
  return [
    ...texts,
    ...(unexcused.length > shownMax ? [`${profile.name}: ${unexcused.length} such repeats`] : []),
    ...(count > allowed ? [`${profile.name}: ${count} doubled, ${allowed} attempts were under way at faults`] : []),
  ];
}

function partnerProblems(partner: Partner, faults: readonly PastFault[]): readonly string[] {
  const { profile, receipts, unverified } = partner;
  const over = excesses(receipts, (atMs) => partner.limitAt(atMs)).filter((one) => !isExcused(one, receipts, faults));
  const early = duringPause(receipts, retryAfterSeconds * 1_000);
  const worst = over.toSorted((one, other) => other.open - other.limit - (one.open - one.limit))[0];
  return [
    ...(profile.isPaused === true && receipts.length > 0
      ? [`${profile.name} is paused and got ${receipts.length}`]
      : []),
    ...early
      .slice(0, 1)
      .map(
        ({ fromMs }) => `${profile.name}: ${early.length} requests after a 429, at ${new Date(fromMs).toISOString()}`,
      ),
    ...[...unverified].map(([fault, count]) => `${profile.name}: ${count} deliveries did not verify (${fault})`),
    ...(worst === undefined
      ? []
      : [
          `${profile.name}: ${over.length} times over maxInFlight without a fault, at most ${worst.open} of ` +
            `${worst.limit} at ${new Date(worst.atMs).toISOString()}`,
        ]),
  ];
}

/** A silence after a loss, and the part of it after the last election that deliveries needed. */
interface JudgedSilence {
  readonly past: Pick<ConductedFault, "fault">;
  readonly ms: number;
  readonly addedMs: number;
}

/** Whether a silence is above the bars. */
export function isLate({ past: { fault }, ms, addedMs }: JudgedSilence): boolean {
  return losesServer(fault) ? ms > barMs.server && addedMs > barMs.afterElection : ms > barMs.pod;
}

/** Silences of healthy partners around the loss of servers and pods. */
export function silencesOf({ installation, events, faults }: Evidence) {
  const lastMs = events.at(-1)?.sentMs ?? Number.POSITIVE_INFINITY;
  const healthy = installation.partners.filter(({ profile }) => profile.isHealthy === true);
  return withTails(faults, tailMsMax, lastMs)
    .filter(({ past: { fault } }) => losesServer(fault) || losesPod(fault))
    .map(({ past, tailMs, nextMs, previousMs }) => {
      const longest = (elected?: (name: string) => readonly number[]): number =>
        Math.max(
          ...healthy.map(({ profile, deliveredMs }) =>
            silenceMs(heardUntil(deliveredMs, past.fromMs, previousMs), past, tailMs, nextMs, elected?.(profile.name)),
          ),
        );
      const addedMs = longest((name) => electedMs(installation.servers.observed, name));
      return { past, verb: past.fault.verb, ms: longest(), addedMs };
    });
}

function metricProblems({ installation, faults }: Evidence, fates: readonly Fate[]): readonly string[] {
  const { pods, partners } = installation;
  const scrapes = (metric: string, labels?: Readonly<Record<string, string>>): readonly LastScrape[] =>
    pods.flatMap((pod) => pod.scrapes.last(metric, labels));
  const receipts = partners.flatMap((partner) => partner.receipts);
  const delivered = receipts.filter(isDelivered).map(({ toMs }) => toMs);
  // A stopped pod may find the response, or its time limit.
  const slack = faults
    .filter(({ fault }) => ["stop_pod", "starve_pod"].includes(fault.verb))
    .reduce((sum, { fromMs }) => sum + underWay(receipts, fromMs), 0);
  const ended = fates.flatMap(({ endedMs }) => (endedMs === undefined ? [] : [endedMs]));
  const faultsFound = [
    counterFault(
      "heliograph_webhook_attempts_total of delivered",
      scrapes("heliograph_webhook_attempts_total", { outcome: "delivered" }),
      delivered,
      slack,
    ),
    counterFault("heliograph_webhook_dead_letters_total", scrapes("heliograph_webhook_dead_letters_total"), ended),
  ];
  return faultsFound.filter((one) => one !== undefined);
}
