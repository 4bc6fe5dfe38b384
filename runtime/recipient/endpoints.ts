import { pathOf, type IncomingRequest } from "../webhooks/signing/verification-result.ts";
import {
  respondAndReport,
  concludeOnce,
  DeliveryRefusal,
  failure,
  receive,
  traceIdOf,
  unverified,
  type Conclusion,
  type RecipientAnswer,
  type RecipientOptions,
} from "./receive.ts";
import type { SeenRecord } from "./seen-store.ts";
import { verifyAcknowledgement, type Acknowledgement } from "./verify-delivery.ts";
import { hash, timingSafeEqual } from "node:crypto";

/** Largest request body, in bytes: an event of 256 KiB and the attempt that the sender adds. */
export const deliveryBytesMax = 262_208;

/** A request without its body. */
export type RequestHead = Omit<IncomingRequest, "body">;

/** A request whose body is read when an endpoint needs it. */
export interface EndpointRequest extends RequestHead {
  /** Reads at most {@link deliveryBytesMax} bytes. @throws DeliveryRefusal for a longer body */
  readonly readBody: () => Promise<Uint8Array>;
}

/** Options of all endpoints of a recipient. */
export interface EndpointOptions<Transaction> extends RecipientOptions<Transaction> {
  /** Whether a caller may read the status of events. @default no status endpoint */
  readonly mayReadStatus?: (request: RequestHead) => boolean | Promise<boolean>;
  /** The effect of an acknowledgement, in the transaction that marks its event. @default only the mark */
  readonly acknowledge?: (acknowledgement: Acknowledgement, transaction: Transaction) => Promise<void>;
  /** Requests at once; more get 429. @default 256 */
  readonly inFlightMax?: number;
}

/** Handles every request of a recipient; never rejects. */
export type Endpoints = (request: EndpointRequest) => Promise<RecipientAnswer>;

const inFlightDefault = 256;
const retrySeconds = 1;
const statusPath = /\/webhooks\/status\/(?<eventId>[^/]+)$/u;
const statusQueryPath = /\/webhooks\/status$/u;
const ackPath = /\/webhooks\/ack$/u;

/**
 * The endpoints of a recipient without a server. A POST to a path that ends in `/webhooks/ack` is an acknowledgement,
 * any other POST is a delivery. `GET /webhooks/status/:event_id`, or with `?event_id=`, returns the outcome of an
 * event. An OPTIONS request of a sender that asks for consent gets it. Source: seed "Webhook Event Delivery" §4.1 and
 * §4.3.
 */
export function createEndpoints<Transaction>(options: EndpointOptions<Transaction>): Endpoints {
  const { inFlightMax = inFlightDefault } = options;
  let inFlight = 0;
  return async (request) => {
    if (inFlight >= inFlightMax) return await rejected(request, options, tooMany());
    inFlight += 1;
    try {
      return await route(request, options);
    } catch (error) {
      return await rejected(request, options, error);
    } finally {
      inFlight -= 1;
    }
  };
}

/** Responds to an error from outside of a handler. Only POST requests are deliveries, which are reported. */
async function rejected<Transaction>(
  request: EndpointRequest,
  options: EndpointOptions<Transaction>,
  error: unknown,
): Promise<RecipientAnswer> {
  const reported = request.method === "POST" ? options : {};
  const response = await respondAndReport(request, reported, async () => failure(error));
  return response.status === 405 ? { ...response, headers: { ...response.headers, Allow: "GET" } } : response;
}

function tooMany(): DeliveryRefusal {
  return new DeliveryRefusal(429, "too_many_requests", "Too many requests are being processed", retrySeconds);
}

async function route<Transaction>(
  request: EndpointRequest,
  options: EndpointOptions<Transaction>,
): Promise<RecipientAnswer> {
  const { method, target, headers, readBody } = request;
  if (method === "POST") {
    const signed = { method, target, headers, body: await readBody() };
    return ackPath.test(pathOf(target))
      ? await respondAndReport(signed, options, () => acknowledged(signed, options))
      : await receive(signed, options);
  }
  if (method === "OPTIONS" && headers["webhook-request-origin"] !== undefined) return consent(request);
  return await readStatus(request, options);
}

/** Every sender may ask: its deliveries need a signature all the same. Source: CloudEvents web hooks §4. */
function consent(request: EndpointRequest): RecipientAnswer {
  const consented = { "WebHook-Allowed-Origin": "*", "WebHook-Allowed-Rate": "*" };
  return { status: 200, headers: { "X-Trace-Id": traceIdOf(request), ...consented } };
}

async function acknowledged<Transaction>(
  request: IncomingRequest,
  options: EndpointOptions<Transaction>,
): Promise<Conclusion> {
  const result = verifyAcknowledgement(request, options.keys(), (options.now ?? Date.now)(), options.scheme);
  if (!result.ok) return unverified(result.fault);
  const { acknowledgement, keyId } = result;
  const { acknowledge = async () => undefined } = options;
  const conclusion = await concludeOnce(acknowledgement.event_id, options, (transaction) =>
    acknowledge(acknowledgement, transaction),
  );
  return { keyId, ...conclusion, ...(conclusion.outcome === "processed" ? { outcome: "acknowledged" } : {}) };
}

async function readStatus<Transaction>(
  request: EndpointRequest,
  { mayReadStatus, store }: EndpointOptions<Transaction>,
): Promise<RecipientAnswer> {
  const eventId = namedEvent(request.target);
  if (eventId === undefined || mayReadStatus === undefined)
    throw new DeliveryRefusal(404, "not_found", "This path does not exist");
  if (request.method !== "GET")
    throw new DeliveryRefusal(405, "method_not_allowed", "The status of an event is read with GET");
  if (!(await mayReadStatus(request)))
    throw new DeliveryRefusal(403, "forbidden", "The caller may not read the status of events");
  const record = await store.find(eventId());
  return { status: 200, headers: { "X-Trace-Id": traceIdOf(request) }, body: statusBody(record) };
}

/**
 * Reads the event id of a status request: a segment of the path, or `?event_id=`. URLs drop the segments `.` and `..`,
 * also when they are percent-encoded.
 */
function namedEvent(target: string): (() => string) | undefined {
  const path = pathOf(target);
  const segment = statusPath.exec(path)?.groups?.["eventId"];
  if (segment !== undefined) return () => decoded(segment);
  const query = target.includes("?") ? target.slice(target.indexOf("?")) : "";
  const named = statusQueryPath.test(path) ? new URLSearchParams(query).get("event_id") : null;
  return named === null || named === "" ? undefined : () => named;
}

function decoded(eventId: string): string {
  try {
    return decodeURIComponent(eventId);
  } catch {
    throw new DeliveryRefusal(400, "invalid_event_id", "The event id in the path is not valid percent-encoding");
  }
}

/** Source: seed "Webhook Event Delivery" §2.3. An event that failed was processed, but is not seen. */
function statusBody(record: SeenRecord | undefined): object {
  if (record === undefined) return { seen: false };
  return {
    seen: record.status === "ok",
    processed_at: new Date(record.processedAtMs).toISOString(),
    handler_version: record.handlerVersion,
  };
}

/** Joins the chunks of a body. @throws DeliveryRefusal when they are longer than {@link deliveryBytesMax} */
export async function joinBody(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const kept: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > deliveryBytesMax)
      throw new DeliveryRefusal(413, "body_too_large", `The body of a delivery has at most ${deliveryBytesMax} bytes`);
    kept.push(chunk);
  }
  return Buffer.concat(kept);
}

const bearerForm = /^Bearer (?<token>[\x21-\x7e]+)$/iu;

/**
 * Checks for a bearer token of a list, in time that does not depend on the tokens.
 * @param tokens called for each request, so that a new token needs no restart
 */
export function bearerCallers(tokens: () => readonly string[]): (request: Pick<RequestHead, "headers">) => boolean {
  return ({ headers: { authorization } }) => {
    const token = typeof authorization === "string" ? bearerForm.exec(authorization)?.groups?.["token"] : undefined;
    if (token === undefined) return false;
    const given = hash("sha256", token, "buffer");
    return tokens().filter((one) => timingSafeEqual(hash("sha256", one, "buffer"), given)).length > 0;
  };
}
