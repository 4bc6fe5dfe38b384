// Routing: which partners get an event, and what of that is stored already. Attempts are made by the workers below.

import { routingMax } from "../../nats/streams/events-stream.ts";
import { untilAvailable } from "../../nats/connection/retry-until-reply.ts";
import type { Pull } from "../../nats/messages/pull.ts";
import type { PulledMessage } from "../../nats/messages/pulled-message.ts";
import type { DeliveryRecord } from "../records/delivery-record.ts";
import { createInFlight, type HeldWork, createRedeliveryCheck, type RedeliveryCheck } from "../delivery/in-flight.ts";
import {
  attemptedDirectly,
  attemptsOf,
  firstDelivery,
  lostDelivery,
  missingSteps,
  type MissingStep,
  ensureDelivery,
  type RouterDeps,
  storeRoutingNote,
  readRoutingNote,
  type Route,
} from "./missing-steps.ts";
import type { Recipient } from "../partners/partner.ts";
import { createRoutingTable, type RoutingTable } from "../partners/configured-partners.ts";
import { routedByText, readEvent, sentBytes, type StoredEvent } from "../records/event-record.ts";
import type { Lanes } from "../workers/lane-workers.ts";

/** Publishes the deliveries of each event. Every pod runs one router; all share one consumer. */
export type Router = ReturnType<typeof createRouter>;

/** Events that this pod requests ahead. */
const creditMax = 128;

interface RoutingWork extends HeldWork {
  readonly event: StoredEvent;
}

/** Creates a router with an empty table. @param lanes the workers that make first attempts straight from events */
export function createRouter(deps: RouterDeps, lanes: Pick<Lanes, "attemptDirectly">) {
  const routeDeps = { ...deps, lanes };
  let table = createRoutingTable([]);
  let pull: Pull | undefined;
  let isHeld = false;
  /** Older events were delivered to a consumer that was deleted. */
  let consumerMadeAtMs = 0;
  const redeliveryCheck = createRedeliveryCheck(() => routingMax);
  const inFlight = createInFlight<RoutingWork>(
    (error, { event }) => {
      if (!deps.ending.aborted)
        deps.log.error({ err: error, eventId: event.eventId, tenant: event.tenant }, "event not routed by this pod");
    },
    new Map(),
    deps.clock,
  );
  const accept = (message: PulledMessage): void => {
    const event = readEvent(message);
    if (event === undefined) {
      deps.log.error({ subject: message.subject, seq: message.seq }, "message of the events stream is not an event");
      message.ack();
      return;
    }
    const start = (held: PulledMessage): RoutingWork => ({ event, message: held, sinceMs: deps.clock.nowMs() });
    inFlight.take(message, start, async (work) => {
      // This process stood still: another router has the event by now.
      if (!message.isHeld()) return;
      await (event.acceptedAtMs < consumerMadeAtMs
        ? recover(deps, event, routeOf(table, event)).then(() => work.message.ack())
        : route(routeDeps, work, routeOf(table, event), redeliveryCheck));
    });
  };
  const repair = async (): Promise<void> => {
    consumerMadeAtMs = await deps.events.ensureRouter(routingMax);
  };
  return {
    /** Ensures the consumer and starts the pull. */
    start: async () => {
      await untilAvailable(repair);
      const credit = (): number => (isHeld ? 0 : creditMax);
      pull = deps.events.pull({ credit, onMessage: accept, onOpen: () => redeliveryCheck.require(), repair });
    },
    /** Routes by this table from now on. */
    use: (next: RoutingTable) => {
      table = next;
    },
    /**
     * Republishes deliveries of an event that were never attempted or are lost. Returns their number.
     *
     * @throws NoReplyError when the process ends
     */
    recover: (event: StoredEvent) => recover(deps, event, routeOf(table, event)),
    keepAlive: () => {
      inFlight.keepAlive();
      pull?.watch();
    },
    /** Pauses or resumes the pull while the backlog is too large. Events wait in the events stream. */
    hold: (next: boolean) => {
      isHeld = next;
      pull?.topUp();
    },
    /** Stops the pull; resolves when nothing is in flight, or after the timeout. */
    stop: async (drainMs: number) => {
      await pull?.stop();
      await inFlight.idle(drainMs);
    },
  };
}

function routeOf(table: RoutingTable, event: StoredEvent): Route {
  const { matching, denied, payloads } = table.routeOf(event);
  return { partners: matching, denied, payloads, configuration: table.configuration };
}

/**
 * The step with the configuration of this routing and the payload that it selects, unless an earlier routing of the
 * event left them: retries send the bytes of the first attempt.
 */
function withRoutedBy({ configuration, payloads }: Route, partner: Recipient, step: DeliveryRecord): DeliveryRecord {
  const payload = payloads.get(partner);
  return (configuration === undefined && payload === undefined) || step.routedBy !== undefined
    ? step
    : { ...step, routedBy: routedByText(configuration, partner.config.generation, payload) };
}

type RouteDeps = RouterDeps & { readonly lanes: Pick<Lanes, "attemptDirectly"> };

async function route(deps: RouteDeps, work: RoutingWork, to: Route, redeliveryCheck: RedeliveryCheck): Promise<void> {
  const { event } = work;
  const span = deps.spans.route(event);
  const found = await stepsOf(deps, work, to, redeliveryCheck);
  if (found === undefined) {
    work.message.ack();
    return;
  }
  const missing = found.map(({ partner, step }) => ({ partner, step: withRoutedBy(to, partner, step) }));
  const isHeld = (): boolean => work.message.isHeld();
  const isMissing = async ({ did }: DeliveryRecord): Promise<boolean> =>
    (await missingSteps(deps, event, to.partners)).some(({ step }) => step.did === did);
  const ensure = async ({ partner, step }: MissingStep): Promise<boolean> =>
    (await ensureDelivery(deps, { event, partner, step, isMissing: () => isMissing(step), isHeld })) !== "lost";
  const direct = attemptsOfRoute(deps, work, to, missing);
  const areEnsured = await Promise.all(missing.filter((_, index) => direct[index] === undefined).map(ensure));
  const isKept = isHeld();
  if (isKept) await storeRoutingNote(deps, event, to);
  span.end(missing.length);
  const haveEnded = await Promise.all(
    missing.map(({ partner, step }, index) => ended(direct[index], { partner, step })),
  );
  // Otherwise the next router finds what is missing.
  if (isKept && [...areEnsured, ...haveEnded].every(Boolean)) work.message.ack();

  /** Stores the delivery of a direct attempt that was no success. Its worker finds the record. */
  async function ended(attempt: Promise<boolean> | undefined, { partner, step }: MissingStep): Promise<boolean> {
    if (attempt === undefined) return true;
    if (!(await attempt)) return ensure({ partner, step: { ...step, hop: 1 } });
    deps.metrics.routed.inc();
    return true;
  }
}

/**
 * The deliveries that are to be made; undefined when the event is routed. An earlier worker may have stored some of
 * them, and some of those may have ended.
 */
async function stepsOf(
  deps: RouterDeps,
  { event, message }: RoutingWork,
  { partners }: Route,
  redeliveryCheck: RedeliveryCheck,
): Promise<readonly MissingStep[] | undefined> {
  const isFirstTime = message.deliveryCount === 1;
  if (isFirstTime && !redeliveryCheck.isRequired)
    return partners.map((partner) => ({ partner, step: firstDelivery(event, partner) }));
  if ((await readRoutingNote(deps, event)) !== undefined) {
    // The note is the last write of a routing.
    if (isFirstTime) redeliveryCheck.report(true);
    return undefined;
  }
  const missing = await missingSteps(deps, event, partners);
  if (isFirstTime) redeliveryCheck.report(missing.filter(({ step }) => step.hop === 0).length < partners.length);
  return missing;
}

/** The attempts that are made straight from the event, by the index of their steps. */
function attemptsOfRoute(
  deps: RouteDeps,
  work: RoutingWork,
  to: Route,
  missing: readonly MissingStep[],
): readonly (Promise<boolean> | undefined)[] {
  const { event, message } = work;
  // A note would end the recovery of a direct attempt.
  const isDirect = message.deliveryCount === 1 && to.denied.length === 0 && event.only === undefined;
  // After a redelivery, an attempt that has not begun is stored, so that its worker looks for a record first.
  const holding = (): boolean => work.message === message && message.isHeld();
  return missing.map(({ partner, step }) => {
    if (!isDirect || step.hop !== 0 || deps.backlogs.isFull(partner)) return undefined;
    return deps.lanes.attemptDirectly(step, { body: sentBytes(event, step.routedBy), isHeld: holding });
  });
}

/**
 * Routes an event again whose earlier routing is unknown. A delivery that was never attempted is published. A delivery
 * that waited for a retry and is gone continues with that retry.
 */
async function recover(deps: RouterDeps, event: StoredEvent, to: Route): Promise<number> {
  const note = await readRoutingNote(deps, event);
  if (note?.deliveries === 0) return 0;
  const recipients = [...to.partners, ...attemptedDirectly(deps, to.partners, await attemptsOf(deps, event))];
  const stored = await Promise.all(
    recipients.map(async (partner) => {
      const step = await lostDelivery(deps, event, partner);
      if (step === undefined) return "gone_on";
      const isMissing = async (): Promise<boolean> => (await lostDelivery(deps, event, partner)) !== undefined;
      const next = withRoutedBy(to, partner, step);
      return ensureDelivery(deps, { event, partner, step: next, isMissing, isHeld: () => true });
    }),
  );
  if (note === undefined) await storeRoutingNote(deps, event, to);
  return stored.filter((result) => result === "stored").length;
}
