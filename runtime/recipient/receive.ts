import { randomBytes } from "node:crypto";
import type { SigningScheme } from "../../crds/signing-key.ts";
import type { VerificationKey } from "../webhooks/signing/keys.ts";
import type { IncomingRequest } from "../webhooks/signing/verification-result.ts";
import type { OnceResult, SeenStore } from "./seen-store.ts";
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
  readonly outcome:
    | "processed"
    | "acknowledged"
    | "duplicate"
    | "in_progress"
    | "store_full"
    | "unverified"
    | "refused"
    | "failed";
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
  /** Time in the handler; absent when it did not run. */
  readonly handlerMs?: number;
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

/** Outcome of a signed request before its response is built. */
export type Conclusion = Omit<DeliveryReport, "status" | "traceId" | "durationMs"> & {
  readonly rejection?: DeliveryRefusal;
};

/**
 * Receives one delivery in the seed's order: signature and window, seen, then once-only processing; 200 comes only
 * after the mark is kept. Source: seed "Webhook Event Delivery" §3 and §7.
 */
export async function receive<Transaction>(
  delivery: IncomingRequest,
  options: RecipientOptions<Transaction>,
): Promise<RecipientAnswer> {
  return await respondAndReport(delivery, options, () => conclude(delivery, options));
}

/** Handles a signed request and reports its outcome. */
export async function respondAndReport<Transaction>(
  request: Pick<IncomingRequest, "headers">,
  { report }: Pick<RecipientOptions<Transaction>, "report">,
  work: () => Promise<Conclusion>,
): Promise<RecipientAnswer> {
  const startedAtMs = performance.now();
  const traceId = traceIdOf(request);
  const { rejection, ...conclusion } = await work();
  const response =
    rejection === undefined ? { status: 200, headers: { "X-Trace-Id": traceId } } : errorResponse(rejection, traceId);
  report?.({ ...conclusion, status: response.status, traceId, durationMs: performance.now() - startedAtMs });
  return response;
}

async function conclude<Transaction>(
  delivery: IncomingRequest,
  options: RecipientOptions<Transaction>,
): Promise<Conclusion> {
  const verdict = verifyDelivery(delivery, options.keys(), (options.now ?? Date.now)(), options.scheme);
  if (!verdict.ok) return unverified(verdict.fault);
  const { event, keyId } = verdict;
  const handle = (transaction: Transaction): Promise<void> => options.handle(event, transaction, delivery.body);
  return { keyId, ...(await concludeOnce(event.event_id, options, handle)) };
}

/** Runs an effect unless the event had it before. An error of the effect or of the store becomes a rejection. */
export async function concludeOnce<Transaction>(
  eventId: string,
  { store, handlerVersion }: RecipientOptions<Transaction>,
  effect: (transaction: Transaction) => Promise<void>,
): Promise<Conclusion> {
  let handlerMs: number | undefined;
  const timed = async (transaction: Transaction): Promise<void> => {
    const startedAtMs = performance.now();
    await effect(transaction).finally(() => (handlerMs = performance.now() - startedAtMs));
  };
  const conclusion = await store
    .find(eventId)
    .then((record) => (record?.status === "ok" ? "seen" : store.once(eventId, handlerVersion, timed)))
    .then(conclusionOf, failure);
  return { eventId, ...conclusion, ...(handlerMs === undefined ? {} : { handlerMs }) };
}

function conclusionOf(result: OnceResult): Conclusion {
  switch (result) {
    case "processed":
      return { outcome: "processed" };
    case "seen":
      return { outcome: "duplicate" };
    case "busy":
      return {
        outcome: "in_progress",
        rejection: new DeliveryRefusal(429, "in_progress", "The same event is being processed", busyRetrySeconds),
      };
    case "full":
      return {
        outcome: "store_full",
        rejection: new DeliveryRefusal(503, "store_full", "The store of seen events is full", fullRetrySeconds),
      };
  }
}

/** The conclusion of an error. The caller of the endpoint learns the text of a rejection and of no other error. */
export function failure(error: unknown): Conclusion {
  return error instanceof DeliveryRefusal
    ? { outcome: "refused", error, rejection: error }
    : {
        outcome: "failed",
        error,
        rejection: new DeliveryRefusal(500, "internal_error", "The event could not be processed"),
      };
}

/** One text for every fault of the signature, since details would help a forger (seed §7). */
export function unverified(fault: DeliveryFault): Conclusion {
  const rejection =
    fault === "body_malformed" || fault === "event_id_differs"
      ? new DeliveryRefusal(400, "invalid_event", "The body is not the event in the headers")
      : new DeliveryRefusal(401, "invalid_signature", "The signature or its timestamp is not valid");
  return { outcome: "unverified", fault, rejection };
}

/** The recipient's error body. Source: seed "Webhook Event Delivery" §2.4. */
export function errorResponse(rejection: DeliveryRefusal, traceId: string): RecipientAnswer {
  const { status, error, message, retryAfterSeconds } = rejection;
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
