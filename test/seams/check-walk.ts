import { resourceTypes, type ResourceObject } from "../../operator/resource-types.ts";
import { waitFor } from "../support/wait.ts";
import {
  countBy,
  fateOfPair,
  lateSignatures,
  needsHistory,
  pairOf,
  type Fate,
  type Pair,
  type ReportedRouting,
  type RoutedEvent,
} from "./check.ts";
import { configurationsOf, readHistories, type History } from "./histories.ts";
import type { Catalogs } from "./catalogs.ts";
import { checkContent, contentsOf, type ContentResult } from "./check-content.ts";
import type { Installation } from "./installation.ts";
import type { Partners } from "./partners.ts";
import type { Recipient } from "./recipients.ts";
import type { SentEvent } from "./traffic.ts";
import type { LoggedStep } from "./walker.ts";
import { namespaces } from "./walk.ts";
import type { PublishedWatch } from "./watch-published.ts";
import { mayRouteAgain, withRedelivery, type RoutingWatch } from "./watch-routing.ts";

/** Everything that a walk leaves behind. */
export interface Evidence {
  readonly installation: Installation;
  readonly partners: Partners;
  readonly catalogs: Catalogs;
  readonly recipients: readonly Recipient[];
  readonly events: readonly SentEvent[];
  readonly routing: RoutingWatch;
  readonly published: PublishedWatch;
  readonly log: readonly LoggedStep[];
}

interface WalkResult extends Pick<ContentResult, "decidedResults" | "decidedTexts"> {
  readonly counts: Readonly<Record<string, unknown>>;
  /** Broken promises, in sentences; empty when all were kept. */
  readonly problems: readonly string[];
  /** The histories and the steps around the first problems. */
  readonly text: string;
  /** Pairs that had to be delivered. */
  readonly owed: number;
  /** Part of the pairs of existing partners that had to be delivered or had not to be. */
  readonly decidedShare: number;
}

/** Attempts that were under way when a key ended. */
const signingSlackMs = 3_000;
const problemsShownMax = 10;
const storiesShownMax = 3;
const stepsAroundMs = 4_000;
const readyMs = 30_000;
/** Bound on rejected events whose history is requested. */
const rejectedReadMax = 50;
/** Bound on histories that are read of events without a subscription. */
const unmatchedReadMax = 50;

/** Compares the effects of a walk with the expectations. */
export async function checkWalk(evidence: Evidence): Promise<WalkResult> {
  const { events, partners, recipients, installation } = evidence;
  const routed = routedEvents(evidence);
  const promised = routed.flatMap((one) =>
    recipients.map((_, slot) => pairOf(one, slot, partners.timelines[slot] ?? [])),
  );
  const unmatched = unmatchedEvents(promised, recipients.length).slice(0, unmatchedReadMax);
  const asked = promised
    .filter((pair) => pair.expectation === "either" || needsHistory(pair, recipientOf(evidence, pair)))
    .map(({ event }) => event.id);
  const rejected = rejectedEvents(events).map(({ id }) => id);
  const urls = installation.pods.map(({ url }) => url);
  const ids = [...asked, ...openContents(evidence, routed), ...unmatched, ...rejected.slice(0, rejectedReadMax)];
  const histories = await readHistories(urls, installation.token, [...new Set(ids)]);
  const pairs = routed.flatMap((one) => {
    const reported = reportedRouting(evidence, one, histories.get(one.event.id));
    return recipients.map((_, slot) => pairOf(one, slot, partners.timelines[slot] ?? [], reported));
  });
  const fates = pairs.map((pair) => ({
    pair,
    fate: fateOfPair(pair, recipientOf(evidence, pair), histories.get(pair.event.id)),
  }));
  const wrong = fates.filter(({ fate }) => fate.wrong !== undefined);
  const content = checkContent(evidence, routed, (one) => reportedRouting(evidence, one, histories.get(one.event.id)));
  const problems = [
    ...wrong.map(({ pair, fate }) => `event ${pair.event.id} for recipient ${pair.slot}: ${fate.wrong ?? ""}`),
    ...content.problems,
    ...rejected.flatMap((id) => (histories.has(id) ? [`event ${id} was rejected and has a history`] : [])),
    ...unmatched.flatMap((id) => unmatchedProblem(id, histories.get(id))),
    ...recipients.flatMap((recipient, slot) => recipientProblems(recipient, slot, partners)),
    ...(await statusProblems(evidence)),
    ...notRouted(events, routed),
  ];
  return {
    counts: { ...countsOf(evidence, routed, fates), ...content.counts },
    problems:
      problems.length > problemsShownMax
        ? [...problems.slice(0, problemsShownMax), `and ${problems.length - problemsShownMax} more`]
        : problems,
    text: wrong
      .slice(0, storiesShownMax)
      .map(({ pair, fate }) => storyOf(pair, fate, histories.get(pair.event.id), evidence))
      .join("\n\n"),
    owed: pairs.filter(({ expectation }) => expectation === "must").length,
    decidedShare: decidedShare(pairs),
    decidedResults: content.decidedResults,
    decidedTexts: content.decidedTexts,
  };
}

/** What the history of an event reports about its routing; undefined without a history. */
function reportedRouting(
  { published, installation }: Evidence,
  { event, fromMs, toMs }: RoutedEvent,
  history: History | undefined,
): ReportedRouting | undefined {
  if (history === undefined) return undefined;
  const configurations = configurationsOf(history);
  return {
    partners: configurations.map((configuration) => published.partnersOf(configuration, toMs)),
    fields: configurations.map((configuration) => published.fieldsOf(configuration, toMs, event.type)),
    delivered: new Set(history.deliveries.map(({ partner }) => partner)),
    mayRepeat: mayRouteAgain(fromMs, toMs, installation.absences),
  };
}

function decidedShare(pairs: readonly Pair[]): number {
  const existing = pairs.filter(({ mayExist }) => mayExist);
  return existing.filter(({ expectation }) => expectation !== "either").length / existing.length;
}

function recipientOf({ recipients }: Evidence, { slot }: Pair): Recipient {
  const recipient = recipients[slot];
  if (recipient === undefined) throw new Error(`there is no recipient ${slot}`);
  return recipient;
}

/** Accepted events and when each was routed. */
function routedEvents({ events, routing, installation }: Evidence): readonly RoutedEvent[] {
  return events.flatMap((event) => {
    const byMs = event.acceptedMs === undefined ? undefined : routing.routedByMs(event.acceptedMs);
    return byMs === undefined
      ? []
      : [{ event, fromMs: event.sentMs, toMs: withRedelivery(byMs, installation.absences) }];
  });
}

function notRouted(events: readonly SentEvent[], routed: readonly RoutedEvent[]): readonly string[] {
  const known = new Set(routed.map(({ event }) => event.id));
  return events.flatMap(({ id, result, lastResponse }) => {
    if (known.has(id)) return [];
    if (result === undefined) return [`event ${id} got neither 202 nor 422: ${String(lastResponse)}`];
    return result.code === "accepted" ? [`event ${id} was accepted and is not routed`] : [];
  });
}

/** Events that were rejected at their only request: none of an earlier one can be stored. */
function rejectedEvents(events: readonly SentEvent[]): readonly SentEvent[] {
  return events.filter(({ result, tries }) => result !== undefined && result.code !== "accepted" && tries === 1);
}

/** Events with a part that only the configuration of their routing decides. */
function openContents({ partners, catalogs }: Evidence, routed: readonly RoutedEvent[]): readonly string[] {
  return routed
    .filter((one) => partners.timelines.some((timelines) => contentsOf({ timelines, catalogs }, one).size > 1))
    .map(({ event }) => event.id);
}

/** Events that no recipient was to have. */
function unmatchedEvents(pairs: readonly Pair[], recipients: number): readonly string[] {
  const unwanted = countBy(
    pairs.filter(({ expectation }) => expectation === "must_not"),
    ({ event }) => event.id,
  );
  return Object.entries(unwanted).flatMap(([id, count]) => (count === recipients ? [id] : []));
}

/** An event that matched no subscription says when it was routed, or which partner was not permitted to have it. */
function unmatchedProblem(id: string, history: History | undefined): readonly string[] {
  if (history === undefined) return [`event ${id} was accepted and has no history`];
  const others = history.deliveries.filter(({ state }) => state !== "not_routed");
  if (others.length > 0) return [`event ${id} matches no partner and its history says ${JSON.stringify(others[0])}`];
  return typeof history.routed_at === "string"
    ? []
    : [`event ${id} matched no subscription and its history does not say when it was routed`];
}

function recipientProblems(
  { unverified, signedMs }: Recipient,
  slot: number,
  { timelines }: Partners,
): readonly string[] {
  const faults = [...unverified].map(
    ([fault, count]) => `recipient ${slot}: ${count} deliveries did not verify (${fault})`,
  );
  return [
    ...faults,
    ...lateSignatures(timelines[slot] ?? [], signedMs, signingSlackMs).map((late) => `recipient ${slot}: ${late}`),
  ];
}

/** After everything is mended each partner and catalog is ready. */
async function statusProblems({ installation: { cluster } }: Evidence): Promise<readonly string[]> {
  const look = async (): Promise<readonly string[]> => {
    const types = [resourceTypes.WebhookPartner, resourceTypes.EventCatalog];
    const lists = await Promise.all(
      namespaces.flatMap((namespace) => types.map((type) => cluster.client.list<ResourceObject>(type, { namespace }))),
    );
    return lists
      .flatMap(({ items }) => items)
      .flatMap(({ metadata, status }) => {
        const ready = status?.conditions?.find(({ type }) => type === "Ready");
        const isReady = ready?.status === "True" && ready.observedGeneration === metadata.generation;
        return isReady
          ? []
          : [`${metadata.namespace}/${metadata.name} of generation ${metadata.generation} is ${JSON.stringify(ready)}`];
      });
  };
  await waitFor(async () => (await look()).length === 0, {
    timeoutMs: readyMs,
    pollMs: 200,
    what: "every partner and catalog to be ready",
  }).catch(() => undefined);
  return look();
}

function countsOf(
  { events, recipients, partners }: Evidence,
  routed: readonly RoutedEvent[],
  fates: readonly { readonly pair: Pair; readonly fate: Fate }[],
): WalkResult["counts"] {
  const sum = (of: (recipient: Recipient) => number): number =>
    recipients.reduce((total, recipient) => total + of(recipient), 0);
  return {
    events: events.length,
    accepted: routed.length,
    postedAgain: events.filter(({ tries }) => tries > 1).length,
    partnerObjects: partners.all().length,
    pairs: countBy(fates, ({ pair }) => pair.expectation),
    decidedShare: decidedShare(fates.map(({ pair }) => pair)),
    fates: countBy(fates, ({ fate }) => fate.outcome),
    failedOnce: sum(({ failures }) => failures()),
    repeats: sum(({ repeats }) => repeats()),
  };
}

/** One problem with all that is known of it. */
function storyOf(
  { event, slot, routedFromMs, routedToMs, must }: Pair,
  { wrong = "" }: Fate,
  history: History | undefined,
  { log, installation, partners, catalogs }: Evidence,
): string {
  const time = (ms: number): string => new Date(ms).toISOString();
  const around = (fromMs: number, toMs: number): boolean =>
    toMs >= routedFromMs - stepsAroundMs && fromMs <= routedToMs + stepsAroundMs;
  return [
    `event ${event.id}, recipient ${slot}: ${wrong}`,
    `  ${event.type} of ${event.tenant}, sent ${time(event.sentMs)}, ${event.tries} requests`,
    `  owed to ${must.join(", ")}, routed from ${time(routedFromMs)} to ${time(routedToMs)}`,
    `  history: ${JSON.stringify(history)}`,
    ...(partners.timelines[slot] ?? [])
      .flatMap((timeline) => timeline.story(routedFromMs - stepsAroundMs, routedToMs + stepsAroundMs))
      .map((line) => `  ${line}`),
    ...catalogs.timelines.flatMap((one) => one.story(routedFromMs, routedToMs)).map((line) => `  ${line}`),
    ...log
      .filter(({ atMs }) => around(atMs, atMs))
      .map(({ number, atMs, text }) => `  ${time(atMs)} step ${number}: ${text}`),
    ...installation.absences
      .filter(({ fromMs, toMs }) => around(fromMs, toMs))
      .map(({ verb, fromMs, toMs }) => `  ${verb} from ${time(fromMs)} to ${time(toMs)}`),
  ].join("\n");
}
