import { type Caller, debugScope } from "../../metrics/authorization/access.ts";
import { readOne, rejectUnknown } from "../../metrics/request/parameters.ts";
import type { PartnerDetails } from "../../webhooks/live/partner-details.ts";
import type { PartnerOverview } from "../../webhooks/live/partner-overview.ts";
import type { EventTypes } from "../../webhooks/history/event-types.ts";
import type { PartnerList } from "../../webhooks/history/partner-list.ts";
import { type HistoryView, isNarrowed, partnersOf } from "../../webhooks/history/history-view.ts";
import type { IdempotencyKeys } from "../../webhooks/ingest/idempotency-keys.ts";
import type { Pings } from "../../webhooks/ping/ping.ts";
import type { PublishedKeys } from "../../webhooks/signing/keys.ts";
import { asyncApiDocument } from "../openapi/async-api-document.ts";
import type { Operation } from "../openapi/operation.ts";
import * as operations from "../openapi/partner-operations.ts";
import { chooseCoding, createRepresentations } from "../representation/representations.ts";
import { readRoute, type ApiRequest, type ApiResponse, type Route } from "../server/route.ts";
import { readPartnerQuery, readTypeQuery } from "./event-query.ts";
import { idempotent } from "./idempotent.ts";

/** The part of the webhook engine that the routes about partners use. */
export interface PartnerService {
  readonly eventTypes: EventTypes;
  readonly partnerList: Pick<PartnerList, "find">;
  readonly partnerOverview: Pick<PartnerOverview, "page">;
  readonly partnerDetails: PartnerDetails;
  readonly pings: Pings;
  readonly idempotencyKeys: IdempotencyKeys;
  publicKeys(partner: string): PublishedKeys;
}

const pingBytesMax = 1024;

/** The view of a caller. Partners never see internals of the platform, whatever their scopes. */
export function viewOf(caller: Caller): HistoryView {
  return { ...partnersOf(caller), showsInternals: caller.scopes.includes(debugScope) && !isNarrowed(caller) };
}

/** Partners, for callers with a token. */
export function partnerRoutes({
  partnerOverview,
  partnerDetails,
  pings,
  idempotencyKeys,
}: PartnerService): readonly Route[] {
  const scopes = ["webhooks:read"];
  return [
    readRoute("/webhooks/partners", scopes, operations.partnersOperation, async ({ query, caller }) => {
      const requested = { tenants: caller.tenants, ...viewOf(caller), ...readPartnerQuery(query) };
      const { items, next } = await partnerOverview.page(requested);
      return { data: items, meta: { cursor: next === undefined ? null : String(next) } };
    }),
    readRoute("/webhooks/partners/:namespace/:name", scopes, operations.partnerOperation, async (request) => {
      rejectUnknown(request.query, () => false);
      const { tenants } = request.caller;
      return partnerDetails.read(labelOf(request.path), { tenants, ...viewOf(request.caller) });
    }),
    idempotent(idempotencyKeys, {
      method: "POST",
      path: "/webhooks/partners/:namespace/:name/ping",
      scopes: ["webhooks:ping"],
      operation: operations.pingOperation,
      bodyBytesMax: pingBytesMax,
      handle: async ({ path, body, caller }) => ({ status: 202, body: await pings.ping(labelOf(path), body, caller) }),
    }),
  ];
}

type ReadBody = (request: ApiRequest) => object | Promise<object>;

/** Declared event types, for callers with a token. Pages of the same types have the same tag. */
export function eventTypeRoutes({ eventTypes }: Pick<PartnerService, "eventTypes">): readonly Route[] {
  const read = (path: string, operation: Operation, bodyOf: ReadBody): Route => ({
    method: "GET",
    path,
    scopes: ["webhooks:read"],
    operation,
    handle: async (request) => tagged(request, await bodyOf(request)),
  });
  const callerOf = ({ caller }: ApiRequest) => ({ tenants: caller.tenants, ...partnersOf(caller) });
  return [
    read("/webhooks/types", operations.eventTypesOperation, (request) => {
      const { items, next } = eventTypes.page({ ...callerOf(request), ...readTypeQuery(request.query) });
      return { data: items, meta: { cursor: next === undefined ? null : String(next) } };
    }),
    read("/webhooks/asyncapi", operations.asyncApiOperation, (request) => {
      rejectUnknown(request.query, (name) => name === "prefix");
      const caller = callerOf(request);
      const types = eventTypes.details(caller, readOne(request.query, "prefix"));
      return asyncApiDocument({ types, ...eventTypes.deliveries(caller) });
    }),
    read("/webhooks/types/:type", operations.eventTypeOperation, (request) => {
      rejectUnknown(request.query, () => false);
      return eventTypes.find(request.path["type"] ?? "", callerOf(request));
    }),
  ];
}

async function tagged({ acceptEncoding }: ApiRequest, body: object): Promise<ApiResponse> {
  const write = (): Uint8Array => Buffer.from(JSON.stringify(body));
  const made = await createRepresentations().of(body, "json", chooseCoding(acceptEncoding), write);
  const headers = {
    "Content-Type": "application/json; charset=utf-8",
    "Cache-Control": "private, no-cache",
    Vary: "Authorization, Accept-Encoding",
    ETag: made.etag,
    ...(made.coding === "identity" ? {} : { "Content-Encoding": made.coding }),
  };
  return { status: 200, headers, body: made.bytes };
}

/**
 * The route needs no token, since recipients that verify signatures have none. An unknown partner has an empty key set,
 * so the response does not reveal which partners exist.
 */
export function keysRoute(service: Pick<PartnerService, "publicKeys">): Route {
  return {
    method: "GET",
    path: "/webhooks/partners/:namespace/:name/jwks.json",
    scopes: [],
    isOpen: true,
    operation: operations.keysOperation,
    handle: async ({ path }) => {
      const { keySet, maxAgeSeconds } = service.publicKeys(labelOf(path));
      return {
        status: 200,
        headers: { "cache-control": `public, max-age=${maxAgeSeconds}, must-revalidate` },
        body: keySet,
      };
    },
  };
}

/** `namespace/name` of the partner that a path names. */
function labelOf({ namespace = "", name = "" }: ApiRequest["path"]): string {
  return `${namespace}/${name}`;
}
