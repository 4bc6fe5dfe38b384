import { parseJsonObject } from "../../json/json-body.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { DeliveryRecord } from "./delivery-record.ts";
import { eventHash, messageId, type AttemptId } from "../ids.ts";
import type { AttemptTimings, FailureReason, AttemptOutcome } from "../settlement/outcome.ts";
import type { NamedPartner, Partner } from "../partners/partner.ts";
import type { Settlement } from "../settlement/settle.ts";
import type { KeptSignature } from "../signing/signed-request.ts";
import type { SentRequest } from "./sent-request.ts";

/**
 * The stored form of one attempt. It is written before its settlement is applied. After a crash, the settlement is then
 * known without another request to the partner.
 */
export interface AttemptRecord extends AttemptId {
  readonly eventId: string;
  readonly tenant: string;
  readonly partner: { readonly uid: string; readonly namespace: string; readonly name: string };
  /** `X-Attempt`: counts on across replays. */
  readonly number: number;
  /** Start of the attempt, ISO 8601 UTC by JetStream's clock. */
  readonly at: string;
  readonly durationMs: number;
  readonly timings: AttemptTimings;
  readonly outcome: RecordedOutcome;
  readonly settlement: Settlement;
  /** Pod that made the attempt. */
  readonly pod: string;
  /** The replay that the attempt belongs to. */
  readonly replayId?: string;
  /** Absent when nothing was signed, and in records of earlier versions. */
  readonly signed?: KeptSignature;
  /** Absent when nothing was sent, and in records of earlier versions. */
  readonly sent?: SentRequest;
  /** Present when the delivery was not stored before the attempt. */
  readonly direct?: true;
  /** Faults that did not decide the outcome. Absent when there were none, and in records of earlier versions. */
  readonly warnings?: readonly string[];
  /** As in the delivery. */
  readonly routedBy?: string;
}

/** Outcome of an attempt, cut to the parts that history shows. */
export type RecordedOutcome =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly bodyTruncated: boolean;
    }
  | {
      readonly kind: "failure";
      readonly reason: FailureReason;
      readonly detail: string;
      /** As in the outcome. Absent in records of earlier versions. */
      readonly retryAfterMs?: number;
    };

/** An attempt, or the end of a delivery without one. */
interface RecordableAttempt {
  readonly delivery: DeliveryRecord;
  readonly partner: NamedPartner;
  readonly startedAtMs: number;
  readonly outcome: AttemptOutcome;
  readonly settlement: Settlement;
  readonly pod: string;
  /** @default nothing was signed */
  readonly signed?: KeptSignature;
  /** @default nothing was sent */
  readonly sent?: SentRequest;
  /** @default the delivery was stored */
  readonly direct?: true;
}

/** An attempt that was made. */
export interface MadeAttempt extends RecordableAttempt {
  readonly partner: Partner;
}

/** Characters kept of a response other than 2xx. History needs less of the body of a success. */
const bodyCharactersMax = 1_024;
const successBodyCharactersMax = 128;
const headerCharactersMax = 256;
/**
 * Headers that help to find the cause of a failure. Source: seed "Webhook Event Delivery" §7 for `Retry-After` and
 * `X-Trace-Id`.
 */
const keptHeaders = ["content-type", "location", "retry-after", "x-request-id", "x-trace-id"];

/** Builds the record of an attempt. */
export function attemptRecord({
  delivery,
  partner,
  startedAtMs,
  outcome,
  settlement,
  pod,
  signed,
  sent,
  direct,
}: RecordableAttempt): AttemptRecord {
  const { uid, namespace, name } = partner.config;
  const { did, generation, attempt, hop, eventId, tenant } = delivery;
  return {
    did,
    generation,
    attempt,
    hop,
    eventId,
    tenant,
    partner: { uid, namespace, name },
    number: delivery.attemptsBefore + attempt,
    at: new Date(startedAtMs).toISOString(),
    durationMs: Math.round(outcome.timings.totalMs),
    timings: outcome.timings,
    outcome: recordedOutcome(outcome),
    settlement,
    pod,
    ...(delivery.replayId === undefined ? {} : { replayId: delivery.replayId }),
    ...(signed === undefined ? {} : { signed }),
    ...(sent === undefined ? {} : { sent }),
    ...(direct === undefined ? {} : { direct }),
    ...(outcome.warnings === undefined ? {} : { warnings: outcome.warnings }),
    ...(delivery.routedBy === undefined ? {} : { routedBy: delivery.routedBy }),
  };
}

function recordedOutcome(outcome: AttemptOutcome): RecordedOutcome {
  if (outcome.kind === "failure") {
    const { reason, detail, retryAfterMs } = outcome;
    const retryAfter = retryAfterMs === undefined ? {} : { retryAfterMs };
    return { kind: "failure", reason, detail: detail.slice(0, bodyCharactersMax), ...retryAfter };
  }
  const { status, headers, body, bodyTruncated } = outcome;
  const charactersMax = status >= 200 && status <= 299 ? successBodyCharactersMax : bodyCharactersMax;
  const kept = keptHeaders.flatMap((name): [string, string][] => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value.slice(0, headerCharactersMax)]];
  });
  return {
    kind: "response",
    status,
    headers: Object.fromEntries(kept),
    body: body.slice(0, charactersMax),
    bodyTruncated: bodyTruncated || body.length > charactersMax,
  };
}

/**
 * Whether no worker has settled the delivery with these attempts: all were made straight from the event, and none was a
 * success.
 */
export function isUnstored(attempts: readonly AttemptRecord[]): boolean {
  return attempts.every(({ direct, settlement }) => direct === true && settlement.kind !== "delivered");
}

/** Reads all attempts for an event, of every partner, in order. @throws NoReplyError */
export async function readAttempts(
  stream: AttemptsStream,
  tenant: string,
  eventId: string,
): Promise<readonly AttemptRecord[]> {
  return parseAttempts(await stream.read(tenant, eventHash(eventId)));
}

/**
 * Parses the records of messages and drops messages that are none. A record that was stored twice counts once. Two pods
 * that made the same attempt leave two records.
 */
export function parseAttempts(messages: readonly StoredMessage[]): readonly AttemptRecord[] {
  const records = messages.map(({ data }) => parseRecord(data)).filter((record) => record !== undefined);
  const unique = new Map(records.map((record) => [`${messageId(record)} ${record.at} ${record.pod}`, record]));
  return [...unique.values()];
}

function parseRecord(data: Uint8Array): AttemptRecord | undefined {
  const value: Partial<AttemptRecord> | undefined = parseJsonObject(Buffer.from(data).toString());
  return value?.did !== undefined && value.settlement !== undefined ? (value as AttemptRecord) : undefined;
}
