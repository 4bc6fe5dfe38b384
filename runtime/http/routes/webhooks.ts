import type { PartnersClaim } from "../../config/settings/settings.ts";
import { ApiError } from "../../errors/api-error.ts";
import type { EventPage } from "../../webhooks/history/event-list.ts";
import type { EventReads } from "../../webhooks/history/event-reads.ts";
import { historyBytes } from "../../webhooks/history/history.ts";
import { isNarrowed } from "../../webhooks/history/history-view.ts";
import type { DeadLettersApi } from "../../webhooks/replay/dead-letters-api.ts";
import type { Replays } from "../../webhooks/replay/replays.ts";
import * as operations from "../openapi/event-operations.ts";
import type { IdempotencyKeys } from "../../webhooks/ingest/idempotency-keys.ts";
import { idempotent } from "./idempotent.ts";
import { readRoute, requirePartners, type Route } from "../server/route.ts";
import { eventTypeRoutes, keysRoute, partnerRoutes, viewOf, type PartnerService } from "./partners.ts";
import { deliveryStatsRoute, partnerStatsRoute } from "./partner-stats.ts";
import { readCountsQuery, readDeadLetterQuery } from "./dead-letter-query.ts";
import { readEventQuery, readExplainQuery, readReplayQuery, readWait, replayCursor } from "./event-query.ts";

/** The part of the webhook engine that the routes use. */
interface WebhookService extends PartnerService {
  readonly history: EventReads;
  readonly replays: Replays;
  readonly deadLetters: DeadLettersApi;
  readonly idempotencyKeys: IdempotencyKeys;
}

/** Largest body of a replay request: a thousand event ids. */
const replayBytesMax = 192 * 1024;
const ackBytesMax = 8 * 1024;
/** Headers of a response that is built from stored bytes. */
const jsonBytes = { "content-type": "application/json; charset=utf-8" } as const;

/** Events, replays and dead letters. Source: seed "Webhook Event Delivery" §4.2. */
export function webhookRoutes(service: WebhookService, partnersClaim: PartnersClaim = "Optional"): readonly Route[] {
  const routes = [
    ...historyRoutes(service),
    ...eventTypeRoutes(service),
    ...partnerRoutes(service),
    partnerStatsRoute(service),
    deliveryStatsRoute(service),
    ...replayRoutes(service),
    ...deadLetterRoutes(service),
  ];
  return [...(partnersClaim === "Required" ? routes.map(requirePartners) : routes), keysRoute(service)];
}

function historyRoutes(service: WebhookService): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/webhooks/events/:id",
      scopes: ["webhooks:read"],
      operation: operations.historyOperation,
      handle: async ({ path, query, caller }) => {
        const explain = readExplainQuery(query);
        const history = await service.history.event(path["id"] ?? "", caller.tenants, viewOf(caller), explain);
        // An event of another tenant or partner gets the same response as an unknown one.
        if (history === undefined)
          throw new ApiError("event_not_found", "The event does not exist or is not visible to this caller.");
        return { status: 200, headers: jsonBytes, body: historyBytes(history) };
      },
    },
    readRoute("/webhooks/event-ids/:id", ["admin:debug"], operations.eventIdOperation, async ({ path, caller }) => {
      // Only administrators may read the use of event ids; scopes of partners do not allow it.
      const use = isNarrowed(caller) ? undefined : await service.history.eventIdUse(path["id"] ?? "", caller.tenants);
      if (use === undefined)
        throw new ApiError("event_not_found", "The event id is not in use or not visible to this caller.");
      return use;
    }),
    readRoute("/webhooks/events", ["webhooks:read"], operations.listOperation, async (request) => {
      const { query, caller, nowMs, signal } = request;
      const requested = readEventQuery(query, caller, nowMs);
      const waitMs = readWait(query);
      const { history } = service;
      const page =
        waitMs === 0
          ? await history.events(requested)
          : await history.nextEvents(requested, { client: caller.client, waitMs, signal });
      return { data: page.items, meta: eventMeta(page) };
    }),
  ];
}

function replayRoutes({ replays, idempotencyKeys }: WebhookService): readonly Route[] {
  const scopes = ["webhooks:replay"];
  const ackScopes = ["webhooks:ack"];
  const reads = [...scopes, "webhooks:read", ...ackScopes];
  return [
    idempotent(idempotencyKeys, {
      method: "POST",
      path: "/webhooks/replay",
      scopes,
      operation: operations.replayOperation,
      bodyBytesMax: replayBytesMax,
      handle: async ({ body, caller }) => taken(await replays.replay(body, caller)),
    }),
    readRoute("/webhooks/replay", reads, operations.listReplaysOperation, async ({ query, caller }) => {
      const { items, next } = await replays.list(readReplayQuery(query), caller);
      return { data: items, meta: { cursor: next === undefined ? null : replayCursor(next) } };
    }),
    readRoute("/webhooks/replay/:id", reads, operations.readReplayOperation, ({ path, caller }) =>
      replays.get(path["id"] ?? "", caller),
    ),
    {
      method: "DELETE",
      path: "/webhooks/replay/:id",
      // The action of the job decides which of the two it takes.
      scopes: [...scopes, ...ackScopes],
      operation: operations.cancelReplayOperation,
      handle: async ({ path, caller }) => ({
        status: 200,
        body: await replays.cancel(path["id"] ?? "", caller, caller.scopes),
      }),
    },
    idempotent(idempotencyKeys, {
      method: "POST",
      path: "/webhooks/dead-letters/redrive",
      scopes,
      operation: operations.redriveOperation,
      bodyBytesMax: replayBytesMax,
      handle: async ({ body, caller }) => taken(await replays.redrive(body, caller)),
    }),
    idempotent(idempotencyKeys, {
      method: "POST",
      path: "/webhooks/dead-letters/ack",
      scopes: ackScopes,
      operation: operations.acknowledgeOperation,
      bodyBytesMax: replayBytesMax,
      handle: async ({ body, caller }) => taken(await replays.acknowledge(body, caller)),
    }),
  ];
}

function deadLetterRoutes({ deadLetters, idempotencyKeys }: WebhookService): readonly Route[] {
  return [
    readRoute("/webhooks/dead-letters", ["webhooks:read"], operations.deadLettersOperation, async (request) => {
      const { items, nextSeq, isComplete } = await deadLetters.list(readDeadLetterQuery(request.query), request.caller);
      const complete = isComplete === undefined ? {} : { complete: isComplete };
      return { data: items, meta: { cursor: cursorOf(nextSeq), ...complete } };
    }),
    readRoute(
      "/webhooks/dead-letters/counts",
      ["webhooks:read"],
      operations.deadLetterCountsOperation,
      async (request) => {
        const { filter, groupBy } = readCountsQuery(request.query);
        const { counts, isComplete } = await deadLetters.counts(filter, groupBy, request.caller);
        return { data: counts, meta: { complete: isComplete } };
      },
    ),
    idempotent(idempotencyKeys, {
      method: "POST",
      path: "/webhooks/ack",
      scopes: ["webhooks:ack"],
      operation: operations.ackOperation,
      bodyBytesMax: ackBytesMax,
      handle: async ({ body, caller }) => ({ status: 200, body: await deadLetters.ack(body, caller) }),
    }),
  ];
}

/** A dry run has status 200, since it starts nothing. */
function taken(body: Awaited<ReturnType<Replays["replay"]>>): { readonly status: number; readonly body: object } {
  return { status: "dry_run" in body ? 200 : 202, body };
}

function eventMeta({ nextSeq, newest }: EventPage): object {
  const cursor = { cursor: cursorOf(nextSeq) };
  return newest === undefined ? cursor : { ...cursor, newest: String(newest.seq), complete: newest.isComplete };
}

function cursorOf(seq: number | undefined): string | null {
  return seq === undefined ? null : String(seq);
}
