import { Refusal, refuseField } from "../../errors/refusal.ts";
import type { Parameters } from "../../metrics/metrics-api.ts";
import type { EventPage, EventQuery } from "../../webhooks/event-list.ts";
import type { DeliveryState } from "../../webhooks/history.ts";
import type { DeadLetterBox } from "../../webhooks/replay/dead-letter-box.ts";
import type { Replays } from "../../webhooks/replay/replays.ts";
import type { PublishedKeys } from "../../webhooks/signing/published-keys.ts";
import * as operations from "../openapi/event-operations.ts";
import type { IdempotencyKeys } from "../../webhooks/idempotency.ts";
import { idempotent } from "../idempotent.ts";
import type { Route } from "../route.ts";

/** What the routes need of the webhook engine. */
export interface WebhookService {
  /** The event with its attempts, in the shape of the answer; undefined when no such event is visible to the tenants. */
  event(eventId: string, tenants: readonly string[]): Promise<object | undefined>;
  /** @throws Refusal */
  events(query: EventQuery): Promise<EventPage>;
  readonly replays: Replays;
  readonly deadLetters: DeadLetterBox;
  readonly idempotencyKeys: IdempotencyKeys;
  publicKeys(partner: string): PublishedKeys;
}

/** Largest body that asks for a replay: a thousand event ids. */
const replayBytesMax = 192 * 1024;
const ackBytesMax = 8 * 1024;
const pageDefault = 50;
const pageMax = 200;
const dayMs = 86_400_000;
const states: readonly string[] = ["in_delivery", "delivered", "rejected", "dead"] satisfies readonly DeliveryState[];
const cursorForm = /^\d{1,16}$/u;

/** Events, replays and dead letters. Source: seed "Webhook Event Delivery" §4.2, wire "Webhooks". */
export function webhookRoutes(service: WebhookService): readonly Route[] {
  return [...historyRoutes(service), ...replayRoutes(service), ...deadLetterRoutes(service), keysRoute(service)];
}

/** Whoever verifies has no token here; a partner that is not there has no keys, so that nobody learns which there are. */
function keysRoute(service: WebhookService): Route {
  return {
    method: "GET",
    path: "/webhooks/partners/:namespace/:name/jwks.json",
    scopes: [],
    isOpen: true,
    operation: operations.keysOperation,
    answer: async ({ path }) => {
      const { namespace = "", name = "" } = path;
      const { keySet, maxAgeSeconds } = service.publicKeys(`${namespace}/${name}`);
      return { status: 200, headers: { "cache-control": `public, max-age=${maxAgeSeconds}, must-revalidate` }, body: keySet };
    },
  };
}

function historyRoutes(service: WebhookService): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/webhooks/events/:id",
      scopes: ["webhooks:read"],
      operation: operations.historyOperation,
      answer: async ({ path, caller }) => {
        const body = await service.event(path["id"] ?? "", caller.tenants);
        // An event of another tenant is not told apart from none.
        if (body === undefined) throw new Refusal("event_not_found", "No such event is visible to this caller.");
        return { status: 200, body };
      },
    },
    {
      method: "GET",
      path: "/webhooks/events",
      scopes: ["webhooks:read"],
      operation: operations.listOperation,
      answer: async ({ query, caller, nowMs }) => {
        const { items, nextSeq } = await service.events(eventQuery(query, caller.tenants, nowMs));
        return { status: 200, body: { data: items, meta: { cursor: cursorOf(nextSeq) } } };
      },
    },
  ];
}

function replayRoutes({ replays, idempotencyKeys }: WebhookService): readonly Route[] {
  const scopes = ["webhooks:replay"];
  return [
    idempotent(idempotencyKeys, {
      method: "POST",
      path: "/webhooks/replay",
      scopes,
      operation: operations.replayOperation,
      bodyBytesMax: replayBytesMax,
      answer: async ({ body, caller }) => taken(await replays.replay(body, caller)),
    }),
    {
      method: "GET",
      path: "/webhooks/replay/:id",
      scopes: [...scopes, "webhooks:read"],
      operation: operations.readReplayOperation,
      answer: async ({ path, caller }) => ({ status: 200, body: await replays.get(path["id"] ?? "", caller) }),
    },
    {
      method: "DELETE",
      path: "/webhooks/replay/:id",
      scopes,
      operation: operations.cancelReplayOperation,
      answer: async ({ path, caller }) => ({ status: 200, body: await replays.cancel(path["id"] ?? "", caller) }),
    },
    idempotent(idempotencyKeys, {
      method: "POST",
      path: "/webhooks/dead-letters/redrive",
      scopes,
      operation: operations.redriveOperation,
      bodyBytesMax: replayBytesMax,
      answer: async ({ body, caller }) => taken(await replays.redrive(body, caller)),
    }),
  ];
}

function deadLetterRoutes({ deadLetters, idempotencyKeys }: WebhookService): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/webhooks/dead-letters",
      scopes: ["webhooks:read"],
      operation: operations.deadLettersOperation,
      answer: async ({ query, caller }) => {
        const partner = one(query, "partner");
        if (partner === undefined) throw refuseField("invalid_request", "partner", "partner is required: namespace/name");
        const reason = one(query, "reason");
        const page = { partner, afterSeq: cursor(query), limit: limit(query), ...(reason === undefined ? {} : { reason: reasonToken(reason) }) };
        refuseUnknown(query, ["partner", "reason", "cursor", "limit"]);
        const { items, nextSeq } = await deadLetters.list(page, caller);
        return { status: 200, body: { data: items, meta: { cursor: cursorOf(nextSeq) } } };
      },
    },
    idempotent(idempotencyKeys, {
      method: "POST",
      path: "/webhooks/ack",
      scopes: ["webhooks:ack"],
      operation: operations.ackOperation,
      bodyBytesMax: ackBytesMax,
      answer: async ({ body, caller }) => ({ status: 200, body: await deadLetters.ack(body, caller) }),
    }),
  ];
}

/** A dry run starts nothing, so it is no 202. */
function taken(body: Awaited<ReturnType<Replays["replay"]>>): { readonly status: number; readonly body: object } {
  return { status: "dry_run" in body ? 200 : 202, body };
}

function eventQuery(query: Parameters, tenants: readonly string[], nowMs: number): EventQuery {
  const texts = { afterId: one(query, "after_id"), beforeId: one(query, "before_id"), type: one(query, "type"), partner: one(query, "partner") };
  const given = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined)) as Partial<EventQuery>;
  const state = one(query, "state");
  if (state !== undefined && !states.includes(state)) {
    throw refuseField("invalid_request", "state", `state is one of ${states.join(", ")}`);
  }
  refuseUnknown(query, ["from", "to", "after_id", "before_id", "type", "partner", "state", "cursor", "limit"]);
  const from = time(query, "from");
  return {
    tenants,
    // With an id to begin after, no time bounds the list.
    fromMs: from ?? (given.afterId === undefined ? nowMs - dayMs : 0),
    toMs: time(query, "to") ?? Number.POSITIVE_INFINITY,
    afterSeq: cursor(query),
    limit: limit(query),
    ...given,
    ...(state === undefined ? {} : { state: state as DeliveryState }),
  };
}

function one(query: Parameters, name: string): string | undefined {
  const values = query.get(name);
  if (values !== undefined && values.length > 1) throw refuseField("invalid_request", name, `${name} stands once`);
  return values?.[0];
}

function time(query: Parameters, name: string): number | undefined {
  const value = one(query, name);
  const atMs = value === undefined ? 0 : Date.parse(value);
  if (Number.isNaN(atMs)) throw refuseField("invalid_time", name, `${name} is a time like 2026-01-31T12:00:00.000Z`);
  return value === undefined ? undefined : atMs;
}

function limit(query: Parameters): number {
  const value = one(query, "limit") ?? String(pageDefault);
  const count = Number(value);
  if (!Number.isInteger(count) || count < 1 || count > pageMax) {
    throw refuseField("invalid_limit", "limit", `limit is a whole number from 1 to ${pageMax}`);
  }
  return count;
}

function cursor(query: Parameters): number {
  const value = one(query, "cursor") ?? "0";
  if (!cursorForm.test(value)) throw refuseField("invalid_request", "cursor", "cursor is one that a page before gave");
  return Number(value);
}

/** Goes into a subject filter. */
function reasonToken(reason: string): string {
  if (!/^[a-z0-9_]{1,64}$/u.test(reason)) throw refuseField("invalid_request", "reason", "reason is one like status_404");
  return reason;
}

function cursorOf(seq: number | undefined): string | null {
  return seq === undefined ? null : String(seq);
}

function refuseUnknown(query: Parameters, known: readonly string[]): void {
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) throw refuseField("unknown_parameter", unknown, `${unknown} is not known here`);
}
