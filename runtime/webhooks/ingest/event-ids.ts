import type { EventIdForm } from "../../config/settings/settings.ts";
import { Refusal, type FieldError } from "../../errors/refusal.ts";
import type { Envelope } from "../events/envelope.ts";
import { ownIdPrefix } from "../events/reserved-types.ts";

/** None of them may stand in the name of a tenant, so that no tenant's prefix begins another one's. */
const prefixEnds = [".", ":", "/"] as const;

interface FormRule {
  /** In words that complete "event_id must be …". */
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
    mustBe: `the event's tenant (- without one), one of ${prefixEnds.join(" ")} and more`,
    accepts: ({ eventId, tenant }) =>
      prefixEnds.some((end) => eventId.startsWith(tenant + end) && eventId.length > tenant.length + 1),
  },
};

/**
 * What is wrong with the id of an event that a producer brings.
 *
 * @param forms it must have one of these; none is any
 */
export function eventIdProblem(
  id: Pick<Envelope, "eventId" | "tenant">,
  forms: readonly EventIdForm[],
): FieldError | undefined {
  if (id.eventId.startsWith(ownIdPrefix)) {
    return {
      field: "event_id",
      code: "not_allowed",
      detail: `ids that begin with ${ownIdPrefix} are made by the sender itself`,
    };
  }
  const rules = forms.map((form) => formRules[form]);
  if (rules.length === 0 || rules.some(({ accepts }) => accepts(id))) {
    return undefined;
  }
  return {
    field: "event_id",
    code: "id_form",
    detail: `event_id must be ${rules.map(({ mustBe }) => mustBe).join(", or ")}`,
  };
}

/** The refusal of an event whose id another tenant has. What the caller sees does not say which one. */
export class EventIdTaken extends Refusal {
  readonly eventId: string;
  /** Whose event is refused. */
  readonly tenant: string;
  /** Who has the id. */
  readonly holder: string;

  constructor({ eventId, tenant }: Pick<Envelope, "eventId" | "tenant">, holder: string) {
    const detail =
      `The event id ${eventId} is taken: ids are unique in the whole installation; send the event under another ` +
      "id, such as a UUID";
    super("event_id_reused", detail, { errors: [{ field: "event_id", code: "event_id_reused", detail }] });
    this.eventId = eventId;
    this.tenant = tenant;
    this.holder = holder;
  }
}
