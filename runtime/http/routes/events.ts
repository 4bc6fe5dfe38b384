import type { PartnersClaim } from "../../config/settings/settings.ts";
import { ApiError, invalidField } from "../../errors/api-error.ts";
import type { Caller } from "../../metrics/authorization/access.ts";
import type { EventReads } from "../../webhooks/history/event-reads.ts";
import type { ExplainQuery } from "../../webhooks/history/explain-event.ts";
import { partnersOf } from "../../webhooks/history/history-view.ts";
import type { IdempotencyKeys } from "../../webhooks/ingest/idempotency-keys.ts";
import { ingestBatch, isSourceList, nativeSource, type BatchItemResult } from "../../webhooks/ingest/ingest-batch.ts";
import { cloudEventSource, isBinaryMode } from "../../webhooks/ingest/cloud-event-source.ts";
import type { CheckEvent, EventCaller, EventSource, Ingest, IngestResponse } from "../../webhooks/ingest/ingest.ts";
import { readDryRunQuery } from "./event-query.ts";
import { idempotent } from "./idempotent.ts";
import { ingestOperation } from "../openapi/event-operations.ts";
import { problemOf } from "../server/problem.ts";
import type { ApiRequest, ApiResponse, Route } from "../server/route.ts";

/** The part of the webhook engine that the route uses. */
interface EventIntake {
  readonly ingest: Ingest;
  readonly checkEvent: CheckEvent;
  readonly history: Pick<EventReads, "dryRun">;
  readonly idempotencyKeys: IdempotencyKeys;
}

/** Largest body of a batch, in bytes. Each event has its own bound. */
const batchBytesMax = 1024 * 1024;

/**
 * `POST /events`: 202 only after the event is stored. With `dry_run=true`: 200, and nothing is stored. Source: seed
 * "Webhook Event Delivery" §1 and §2.1.
 */
export function eventRoutes(intake: EventIntake, partnersClaim: PartnersClaim = "Optional"): readonly Route[] {
  const { ingest, idempotencyKeys } = intake;
  const stored = idempotent(
    idempotencyKeys,
    {
      method: "POST",
      path: "/events",
      scopes: ["events:write"],
      operation: ingestOperation,
      bodyBytesMax: batchBytesMax,
      takesJsonTypes: true,
      handle: async (request) => {
        const event = sourceOf(request);
        const sender = senderOf(request);
        if (!isSourceList(event)) return { status: 202, body: acceptedBody(await ingest(event, sender)) };
        return batchResponse(await ingestBatch(ingest, event, sender), request.correlationId);
      },
    },
    contentOf,
  );
  const handle = async (request: ApiRequest): Promise<ApiResponse> => {
    const explain = readDryRunQuery(request.query);
    if (explain === undefined) return stored.handle(request);
    return dryRun(intake, request, mayExplain(request.caller, partnersClaim) ? explain : undefined);
  };
  return [{ ...stored, handle }];
}

/** The partners are explained to tokens that may read events. */
function mayExplain({ scopes, partners }: Caller, partnersClaim: PartnersClaim): boolean {
  return scopes.includes("webhooks:read") && (partnersClaim === "Optional" || partners !== undefined);
}

async function dryRun(
  { checkEvent, history }: EventIntake,
  request: ApiRequest,
  explain: ExplainQuery | undefined,
): Promise<ApiResponse> {
  const source = sourceOf(request);
  if (isSourceList(source))
    throw invalidField("invalid_request", "dry_run", "a dry run accepts one event; send the events one at a time");
  const { envelope, bytes, isDuplicate } = await checkEvent(source, senderOf(request));
  const { eventId, tenant, type } = envelope;
  const reader = { tenants: request.caller.tenants, ...partnersOf(request.caller) };
  const found = await history.dryRun({ event: { ...envelope, body: bytes }, isDuplicate }, reader, explain);
  return { status: 200, body: { dry_run: true, event_id: eventId, tenant, type, duplicate: isDuplicate, ...found } };
}

function sourceOf({ headers = {}, body, caller: { tenants } }: ApiRequest): EventSource | readonly EventSource[] {
  return cloudEventSource({ headers, body, tenants }) ?? nativeSource(body);
}

function senderOf({ caller: { tenants }, traceparent }: ApiRequest): EventCaller {
  return { tenants, traceparent };
}

/** In binary mode the headers are a part of the event. */
function contentOf({ body, headers = {} }: ApiRequest): Uint8Array {
  if (!isBinaryMode(headers)) return body;
  const attributes = Object.entries(headers).filter(([name]) => name.startsWith("ce-"));
  return Buffer.concat([Buffer.from(JSON.stringify(attributes.toSorted(([a], [b]) => (a < b ? -1 : 1)))), body]);
}

/** 202 when every event is stored, 207 when some are. When no event can be stored, the batch is rejected as a whole. */
function batchResponse(results: readonly BatchItemResult[], correlationId: string): ApiResponse {
  const errors = results.flatMap((result) => ("error" in result ? [result.error] : []));
  const [first] = errors;
  if (
    first !== undefined &&
    errors.length === results.length &&
    errors.every(({ code }) => code === "events_unavailable")
  ) {
    throw new ApiError(first.code, first.message, {
      cause: first.cause,
      retryAfterSeconds: first.retryAfterSeconds ?? 1,
    });
  }
  const items = results.map((result) => {
    if ("response" in result) return { status: 202, ...acceptedBody(result.response) };
    return { status: result.error.status, error: problemOf(result.error, correlationId) };
  });
  return { status: errors.length === 0 ? 202 : 207, body: { results: items } };
}

function acceptedBody({ eventId, tenant, duplicate }: IngestResponse): object {
  return { event_id: eventId, tenant, duplicate };
}
