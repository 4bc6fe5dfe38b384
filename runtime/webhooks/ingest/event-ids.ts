import { createLineLimit } from "../../../limits/token-bucket.ts";
import type { EventIdForm, EventSettings } from "../../config/settings/settings.ts";
import { ApiError, type FieldError } from "../../errors/api-error.ts";
import { type Envelope, ownIdPrefix } from "../events/envelope.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { Log } from "../log.ts";
import { eventHash } from "../ids.ts";
import type { TakenNote } from "../records/event-record.ts";

/** Characters that no name of a tenant contains, so that the prefix of one tenant never begins another one. */
const prefixEnds = [".", ":", "/"] as const;

interface FormRule {
  /** Completes the sentence "event_id must be …". */
  readonly mustBe: string;
  readonly accepts: (id: Pick<Envelope, "eventId" | "tenant">) => boolean;
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/iu;
/** 128 bits in Crockford's base 32: the first of 26 digits is at most 7. Source: the ULID specification. */
const ulidForm = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/iu;

const formRules: Readonly<Record<EventIdForm, FormRule>> = {
  Uuid: { mustBe: "a UUID", accepts: ({ eventId }) => uuidForm.test(eventId) },
  Ulid: { mustBe: "a ULID", accepts: ({ eventId }) => ulidForm.test(eventId) },
  TenantPrefix: {
    mustBe: `the event's tenant (- if it has none), one of ${prefixEnds.join(" ")} and at least one more character`,
    accepts: ({ eventId, tenant }) =>
      prefixEnds.some((end) => eventId.startsWith(tenant + end) && eventId.length > tenant.length + 1),
  },
};

/** Settings that decide which ids are valid, and where they must be unused. */
export type EventIdSettings = Pick<EventSettings, "idForms" | "idCheck">;

/**
 * True for an id that no other tenant can have: it begins with its tenant, which the settings demand. UUIDs and ULIDs
 * lack the character after the tenant, so a form next to `TenantPrefix` never allows such an id to another tenant.
 */
export function isExclusiveId(
  id: Pick<Envelope, "eventId" | "tenant">,
  { idForms, idCheck }: EventIdSettings,
): boolean {
  return idCheck === "Tenant" && idForms.includes("TenantPrefix") && formRules.TenantPrefix.accepts(id);
}

interface TakenIdsDeps {
  readonly attempts: Pick<AttemptsStream, "appendFirst">;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
  readonly log: Log;
}

/**
 * Checks the id of a producer's event; undefined for a valid one.
 *
 * @param forms the allowed forms; an empty list allows all
 */
export function eventIdProblem(
  id: Pick<Envelope, "eventId" | "tenant">,
  forms: readonly EventIdForm[],
): FieldError | undefined {
  if (id.eventId.startsWith(ownIdPrefix)) {
    return {
      field: "event_id",
      code: "not_allowed",
      detail: `ids that begin with ${ownIdPrefix} are reserved for this service; use a different id`,
    };
  }
  const rules = forms.map((form) => formRules[form]);
  if (rules.length === 0 || rules.some(({ accepts }) => accepts(id))) return undefined;
  return {
    field: "event_id",
    code: "id_form",
    detail: `event_id must be ${rules.map(({ mustBe }) => mustBe).join(", or ")}`,
  };
}

/** The rejection of an event whose id belongs to another tenant. Its message does not name that tenant. */
export class EventIdTaken extends ApiError {
  readonly eventId: string;
  /** The tenant of the rejected event. */
  readonly tenant: string;
  /** The tenant that has the id. */
  readonly holder: string;

  constructor({ eventId, tenant }: Pick<Envelope, "eventId" | "tenant">, holder: string) {
    const detail =
      `The event id ${eventId} is already in use: ids are unique in the installation; use a different ` +
      "id, such as a UUID";
    super("event_id_reused", detail, { errors: [{ field: "event_id", code: "event_id_reused", detail }] });
    this.eventId = eventId;
    this.tenant = tenant;
    this.holder = holder;
  }
}

/**
 * Reports to administrators that a tenant sent an event id of another one: a log line and a stored note. The number of
 * reports is limited, so that no tenant fills log or stream. A note that cannot be stored is only logged.
 *
 * @returns a function for each rejection; it does not wait for the note
 */
export function createTakenIds({ attempts, now, log }: TakenIdsDeps): (taken: EventIdTaken) => void {
  const limit = createLineLimit(now);
  return ({ eventId, tenant, holder }) => {
    const leftOut = limit();
    if (leftOut === undefined) return;
    log.warn(
      { eventId, tenant, holder, ...(leftOut === 0 ? {} : { leftOut }) },
      "event rejected, another tenant uses its id",
    );
    const note: TakenNote = { kind: "id_taken", holder, at: new Date(now()).toISOString() };
    attempts.appendFirst(tenant, eventHash(eventId), JSON.stringify(note)).catch((error: unknown) => {
      log.warn({ err: error, eventId, tenant }, "rejection of an event id not stored");
    });
  };
}
