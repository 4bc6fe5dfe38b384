import { randomBytes } from "node:crypto";
import type { SigningScheme } from "../../crds/signing-key.ts";
import type { VerificationKey } from "../webhooks/signing/keys.ts";
import type { IncomingRequest } from "../webhooks/signing/verification-result.ts";
import type { SeenStore } from "./seen-store.ts";
import { verifyDelivery, type DeliveredEvent, type DeliveryFault } from "./verify-delivery.ts";

export interface RecipientOptions<Transaction> {
  /** Signature scheme of the sender. @default "HmacV1" */
  readonly scheme?: SigningScheme;
  /** The current keys, old and new; called for each delivery, so that a rotation needs no restart. */
  readonly keys: () => readonly VerificationKey[];
  readonly store: SeenStore<Transaction>;
  /**
   * The effect of an event, inside the store's transaction; it has its effect at most once. Throw a {@link
   * DeliveryRefusal} for a response with another status. Every other error becomes a 500.
   * @param body the bytes that were signed: `event` is the result of `JSON.parse`, which rounds integers beyond 2⁵³
   */
  readonly handle: (event: DeliveredEvent, transaction: Transaction, body: Uint8Array) => Promise<void>;
  /** Version of {@link handle}, kept with each event. */
  readonly handlerVersion: string;
  /** Called once per delivery, for logs and metrics; it must not throw. @default none */
  readonly report?: (report: DeliveryReport) => void;
  /** Unix milliseconds. @default the system's clock */
  readonly now?: () => number;
}

/** Outcome of one delivery. */
export interface DeliveryReport {
  readonly outcome: "processed" | "duplicate" | "in_progress" | "store_full" | "unverified" | "refused" | "failed";
  readonly status: number;
  readonly traceId: string;
  /** Absent when the signature is not valid. */
  readonly eventId?: string;
  /** Which key signed. */
  readonly keyId?: string;
  /** Fault of the signature or of the envelope. */
  readonly fault?: DeliveryFault;
  /** The error of the handler or of the store. */
  readonly error?: unknown;
  readonly durationMs: number;
}

/** The response to a request. */
export interface RecipientAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; absent for an empty body. */
  readonly body?: object;
}

/** Thrown by a handler that will not take an event. Source: seed "Webhook Event Delivery" §2.4 and §7. */
export class DeliveryRefusal extends Error {
  override readonly name = "DeliveryRefusal";
  /** 400 to 599. The sender gives up after 400, 401, 403, 404, 410 and 422, and repeats after every other. */
  readonly status: number;
  /** Short code, for example `invalid_state`. */
  readonly error: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, error: string, description: string, retryAfterSeconds?: number) {
    super(description);
    this.status = status;
    this.error = error;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const busyRetrySeconds = 1;
const fullRetrySeconds = 60;

/** Outcome of a delivery before its response is built. */
type Conclusion = Omit<DeliveryReport, "status" | "traceId" | "durationMs"> & { readonly refusal?: DeliveryRefusal };

/**
 * Receives one delivery in the seed's order: signature and window, seen, then once-only processing; 200 comes only
 * after the mark is kept. Source: seed "Webhook Event Delivery" §3 and §7.
 */
export async function receive<Transaction>(
  delivery: IncomingRequest,
  options: RecipientOptions<Transaction>,
): Promise<RecipientAnswer> {
  const startedAtMs = performance.now();
  const traceId = traceIdOf(delivery);
  const { refusal, ...conclusion } = await conclude(delivery, options);
  const answer = refusal === undefined ? accepted(traceId) : errorAnswer(refusal, traceId);
  const durationMs = performance.now() - startedAtMs;
  options.report?.({ ...conclusion, status: answer.status, traceId, durationMs });
  return answer;
}

async function conclude<Transaction>(
  delivery: IncomingRequest,
  options: RecipientOptions<Transaction>,
): Promise<Conclusion> {
  const verdict = verifyDelivery(delivery, options.keys(), (options.now ?? Date.now)(), options.scheme);
  if (!verdict.ok) {
    return { outcome: "unverified", fault: verdict.fault, refusal: unverified(verdict.fault) };
  }
  const known = { eventId: verdict.event.event_id, keyId: verdict.keyId };
  try {
    return { ...known, ...(await processed(verdict.event, delivery.body, options)) };
  } catch (error) {
    const isRefusal = error instanceof DeliveryRefusal;
    const refusal = isRefusal ? error : new DeliveryRefusal(500, "internal_error", "The event could not be processed");
    return { ...known, outcome: isRefusal ? "refused" : "failed", error, refusal };
  }
}

async function processed<Transaction>(
  event: DeliveredEvent,
  body: Uint8Array,
  { store, handle, handlerVersion }: RecipientOptions<Transaction>,
): Promise<Conclusion> {
  const record = await store.find(event.event_id);
  if (record?.status === "ok") {
    return { outcome: "duplicate" };
  }
  const result = await store.once(event.event_id, handlerVersion, (transaction) => handle(event, transaction, body));
  switch (result) {
    case "processed":
      return { outcome: "processed" };
    case "seen":
      return { outcome: "duplicate" };
    case "busy":
      return { outcome: "in_progress", refusal: busy() };
    case "full":
      return { outcome: "store_full", refusal: full() };
  }
}

/** One text for every fault of the signature, since details would help a forger (seed §7). */
function unverified(fault: DeliveryFault): DeliveryRefusal {
  return fault === "body_malformed" || fault === "event_id_differs"
    ? new DeliveryRefusal(400, "invalid_event", "The body is not the event in the headers")
    : new DeliveryRefusal(401, "invalid_signature", "The signature or its timestamp is not valid");
}

function busy(): DeliveryRefusal {
  return new DeliveryRefusal(429, "in_progress", "The same event is being processed", busyRetrySeconds);
}

function full(): DeliveryRefusal {
  return new DeliveryRefusal(503, "store_full", "The store of seen events is full", fullRetrySeconds);
}

function accepted(traceId: string): RecipientAnswer {
  return { status: 200, headers: { "X-Trace-Id": traceId } };
}

/** The recipient's error body. Source: seed "Webhook Event Delivery" §2.4. */
export function errorAnswer(refusal: DeliveryRefusal, traceId: string): RecipientAnswer {
  const { status, error, message, retryAfterSeconds } = refusal;
  const retryAfter = retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) };
  return {
    status,
    headers: { "X-Trace-Id": traceId, ...retryAfter },
    body: { error, error_description: message, trace_id: traceId },
  };
}

const traceparentForm = /^[\da-f]{2}-(?<traceId>(?!0{32})[\da-f]{32})-[\da-f]{16}-[\da-f]{2}/u;

/** The trace that the sender is in, else a new one. Source: W3C Trace Context §3.2. */
export function traceIdOf({ headers }: Pick<IncomingRequest, "headers">): string {
  const { traceparent } = headers;
  const traceId = typeof traceparent === "string" ? traceparentForm.exec(traceparent)?.groups?.["traceId"] : undefined;
  return traceId ?? randomBytes(16).toString("hex");
}
