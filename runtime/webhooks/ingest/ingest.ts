// Ingest: events from HTTP, batches and NATS, idempotency keys and backpressure. Events are routed elsewhere.
import { ownDomain } from "../../../api/events.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { PersonalDataSettings } from "../../config/settings/settings.ts";
import { ApiError, type FieldError } from "../../errors/api-error.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import { pauseAfter, retryUntilReply } from "../../nats/connection/retry-until-reply.ts";
import type { DeliveryMetrics } from "../telemetry/delivery-metrics.ts";
import type { DeliverySpans, IngestSpan } from "../telemetry/delivery-spans.ts";
import { parseEnvelope, type Envelope, type ValidEnvelope, isOwnType } from "../events/envelope.ts";
import { personalDataRules } from "../events/personal-data.ts";
import { type EventContracts, exactEnvelope } from "./event-contracts.ts";
import { type Admit, createAdmission, retryAfterFullSeconds, retryAfterSeconds, unavailable } from "./backpressure.ts";
import { EventIdTaken, eventIdProblem, isExclusiveId, type EventIdSettings } from "./event-ids.ts";
import { TurnBudget } from "./turn-budget.ts";
import { eventHash, includesTenant } from "../ids.ts";
import { eventHeaders, readEvent, type StoredEvent } from "../records/event-record.ts";

/** The caller that sends an event. */
export interface EventCaller {
  /** Tenants of the caller; `*`: all tenants. */
  readonly tenants: readonly string[];
  /** W3C trace context of the caller's request. @default none */
  readonly traceparent?: string | undefined;
}

export interface IngestResponse {
  readonly eventId: string;
  readonly tenant: string;
  /** True when the same event was stored before. */
  readonly duplicate: boolean;
}
interface IngestDeps {
  readonly events: EventsStream;
  readonly personalData: PersonalDataSettings;
  readonly isConnected: () => boolean;
  /** True when the stream is nearly full. @default never */
  readonly isFull?: () => boolean;
  /** Returns a text that is unique over all requests and pods. */
  readonly nonce: () => string;
  readonly metrics: DeliveryMetrics;
  readonly spans: Pick<DeliverySpans, "ingest">;
  /** @default all ids are valid, and looked up in all tenants */
  readonly ids?: EventIdSettings;
  /** Checks an event against its declared type. @default nothing is declared */
  readonly contracts?: Pick<EventContracts, "areNeeded" | "check" | "judge">;
  /** Called for an id that belongs to another tenant. @default nothing */
  readonly onTaken?: (taken: EventIdTaken) => void;
  /** Time limit for storing an event, including repetitions, in milliseconds. @default 4000 */
  readonly giveUpAfterMs?: number;
}

/**
 * Stores one event once. Resolves only after JetStream has stored it. A repetition with the same bytes is a duplicate
 * during the whole retention of the stream.
 *
 * @throws ApiError of the envelope; `tenant_forbidden`; those of the declared type; `event_id_reused` for a known id
 *   with other bytes or of another tenant; `events_unavailable` when the event may not be stored
 */
export type Ingest = (source: EventSource, caller: EventCaller) => Promise<IngestResponse>;

/** The bytes of an event, or an event in another format. */
export type EventSource = Uint8Array | EncodedEvent;

/** An event in another format than the envelope. */
export interface EncodedEvent {
  /** Converts it to the bytes of an envelope. @throws ApiError for an event that has no such bytes */
  readonly decode: () => Uint8Array;
  /** The error with the fields as its producer wrote them. */
  readonly describe: (error: ApiError) => ApiError;
}

const anyIds: EventIdSettings = { idForms: [], idCheck: "Installation" };
/** Tenants that are counted whose ids are looked up in all tenants. */
const searchedTenantsMax = 10_000;
const giveUpAfterMsDefault = 4_000;
const limits = { giveUpAfterMs: giveUpAfterMsDefault };

export function createIngest(deps: IngestDeps): Ingest {
  const admit = createAdmission(deps.isConnected, deps.isFull ?? (() => false));
  const { metrics, spans, ids = anyIds } = deps;
  const [rules, turn] = [personalDataRules(deps.personalData), new TurnBudget()];
  const searched = new Set<string>();
  return async (source, caller) => {
    const span = spans.ingest(caller.traceparent);
    let envelope: Envelope | undefined;
    const end = (outcome: string): void => {
      metrics.ingested.inc({ outcome });
      if (envelope !== undefined) span.end(envelope, outcome);
    };
    const { decode, describe } = encodedOf(source);
    try {
      while (turn.isSpent) await turn.next;
      const bytes = decode();
      const valid = parseEnvelope(bytes, rules);
      turn.spendBytes(bytes.byteLength);
      checkCaller(valid.envelope, caller, ids);
      while (turn.isSpent) await turn.next;
      const repeated = await checkDeclared(deps, valid, { turn, admit });
      ({ envelope } = valid);
      const response = repeated ?? (await admit(bytes.byteLength, () => store(deps, valid, span)));
      end(response.duplicate ? "duplicate" : "stored");
      if (searched.size < searchedTenantsMax && !isExclusiveId(envelope, ids)) {
        metrics.searchedTenants.set(searched.add(envelope.tenant).size);
      }
      return response;
    } catch (error) {
      const apiError = apiErrorOf(error);
      end(outcomeOf(apiError));
      if (apiError instanceof EventIdTaken) deps.onTaken?.(apiError);
      throw describe(apiError);
    }
  };
}

/** An event that would be accepted. */
export interface CheckedEvent extends ValidEnvelope {
  /** True when the same event is stored. */
  readonly isDuplicate: boolean;
}

/** Checks an event as ingest does, and stores and counts nothing. @throws ApiError as {@link Ingest} */
export type CheckEvent = (source: EventSource, caller: EventCaller) => Promise<CheckedEvent>;

export function createCheckEvent(deps: Omit<IngestDeps, "isConnected" | "nonce" | "metrics" | "spans">): CheckEvent {
  const rules = personalDataRules(deps.personalData);
  return async (source, caller) => {
    const { decode, describe } = encodedOf(source);
    try {
      const valid = parseEnvelope(decode(), rules);
      checkCaller(valid.envelope, caller, deps.ids ?? anyIds);
      deps.contracts?.judge(exactEnvelope(valid));
      const known = await retryUntilReply(() => readKnown(deps, valid.envelope), limits);
      return { ...valid, isDuplicate: known !== undefined && responseFor(known, valid).duplicate };
    } catch (error) {
      throw describe(apiErrorOf(error));
    }
  };
}

function encodedOf(source: EventSource): EncodedEvent {
  return source instanceof Uint8Array ? { decode: () => source, describe: (error) => error } : source;
}

/** @throws ApiError `invalid_envelope` for a reserved type or id, `tenant_forbidden` */
function checkCaller(envelope: Envelope, { tenants }: EventCaller, { idForms }: EventIdSettings): void {
  const { tenant, type } = envelope;
  const problems = [typeProblem(type), eventIdProblem(envelope, idForms)].filter((problem) => problem !== undefined);
  if (problems.length > 0)
    throw new ApiError("invalid_envelope", "The event envelope is not valid", { errors: problems });
  if (!includesTenant(tenants, tenant))
    throw new ApiError("tenant_forbidden", `The token does not allow events of tenant ${tenant}`);
}

function typeProblem(type: string): FieldError | undefined {
  const detail = `types that begin with ${ownDomain}. are reserved for this service; use a different type`;
  return isOwnType(type) ? { field: "type", code: "not_allowed", detail } : undefined;
}

/**
 * Checks an event against its declared type. A repetition of a stored event is a duplicate, although its version may
 * have ended or changed since then: its producer may have lost the response.
 * @returns the response to such a repetition, otherwise undefined
 * @throws ApiError of the declared type
 */
async function checkDeclared(
  deps: IngestDeps,
  valid: ValidEnvelope,
  { turn, admit }: { readonly turn: TurnBudget; readonly admit: Admit },
): Promise<IngestResponse | undefined> {
  const { contracts } = deps;
  if (contracts?.areNeeded !== true) return undefined;
  try {
    contracts.check(exactEnvelope(valid), (steps) => turn.spend(steps));
    return undefined;
  } catch (error) {
    const { eventId, tenant } = valid.envelope;
    const read = admit(valid.bytes.byteLength, () => readKnown(deps, valid.envelope));
    const known = await read.catch(() => undefined);
    if (known?.tenant !== tenant || Buffer.compare(known.body, valid.bytes) !== 0) throw error;
    return { eventId, tenant, duplicate: true };
  }
}

async function store(deps: IngestDeps, valid: ValidEnvelope, { trace }: IngestSpan): Promise<IngestResponse> {
  const { envelope, bytes } = valid;
  const { eventId, tenant } = envelope;
  const { giveUpAfterMs = giveUpAfterMsDefault } = deps;
  const nonce = deps.nonce();
  const [idhash, isExclusive] = [eventHash(eventId), isExclusiveId(envelope, deps.ids ?? anyIds)];
  const event = { tenant, idhash, isExclusive, headers: eventHeaders(envelope, nonce, { trace }), bytes };
  const deadlineMs = performance.now() + giveUpAfterMs;
  for (let tries = 1; ; tries += 1) {
    const result = await retryUntilReply(() => deps.events.store(event), { giveUpAfterMs });
    if (result.kind === "rejected") throw unavailable("The event store is full", retryAfterFullSeconds, result.detail);
    if (result.kind === "stored") return { eventId, tenant, duplicate: false };
    const known = await retryUntilReply(() => readKnown(deps, envelope), { giveUpAfterMs });
    if (known !== undefined) return responseFor(known, valid, nonce);
    // The event with this id is still being replicated, or was just deleted because of its age.
    const pauseMs = pauseAfter(tries);
    if (performance.now() + pauseMs >= deadlineMs)
      throw unavailable("Another event with this id is being stored; retry", retryAfterSeconds);
    await sleep(pauseMs, undefined, { ref: false });
  }
}

/** @throws EventIdTaken, ApiError `event_id_reused` */
function responseFor(known: StoredEvent, { envelope, bytes }: ValidEnvelope, nonce?: string): IngestResponse {
  const { eventId, tenant } = envelope;
  if (known.tenant !== tenant) throw new EventIdTaken(envelope, known.tenant);
  if (known.nonce === nonce) {
    // An earlier try of this request was stored, and its response was lost.
    return { eventId, tenant, duplicate: false };
  }
  if (Buffer.compare(known.body, bytes) !== 0)
    throw new ApiError("event_id_reused", `The event id ${eventId} is in use by a different event`);
  return { eventId, tenant, duplicate: true };
}

/**
 * Reads the event of the same tenant first. Older versions stored an id once in each tenant. The event of another
 * tenant is only read if that tenant can have the id.
 */
async function readKnown(
  { events, ids = anyIds }: Pick<IngestDeps, "events" | "ids">,
  envelope: Envelope,
): Promise<StoredEvent | undefined> {
  const idhash = eventHash(envelope.eventId);
  const own = await events.read(envelope.tenant, idhash);
  const message = own ?? (isExclusiveId(envelope, ids) ? undefined : await events.readOfAny(idhash));
  return message === undefined ? undefined : readEvent(message);
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return unavailable(
    "The event store does not respond; send the event again, it is never stored twice",
    retryAfterSeconds,
    error,
  );
}

function outcomeOf(apiError: ApiError): string {
  const { code } = apiError;
  if (code === "event_id_reused") return apiError instanceof EventIdTaken ? "taken" : "reused";
  return code === "events_unavailable" ? "unavailable" : "refused";
}
