import { writtenTime } from "./documents.ts";
import {
  eventIds,
  eventIdsMax,
  noteCharactersMax,
  partnerName,
  rate,
  ratePerSecondMax,
  tenantName,
  types,
} from "./replays.ts";
import { closedObject, constantTrue, flag, integer, list, text } from "./schema.ts";

/** Most dead letters that one redrive or acknowledgement selects. */
export const deadLettersPerJobMax = 50_000;

/** Members that select dead letters; the selection has all of them. */
const selection = {
  partner: text("Only dead letters of this partner, as `namespace/name`", partnerName),
  reason: text("Only dead letters with this reason", { pattern: "^[a-z0-9_]{1,64}$" }),
  types,
  tenant: text("Only dead letters of events of this tenant", tenantName),
  from: text("Only deliveries that ended at or after this time", writtenTime),
  to: text("Only deliveries that ended before this time. Default: now", writtenTime),
  event_ids: eventIds("Only dead letters of these events"),
  dead_letter_ids: list(
    text(undefined, { pattern: "^[1-9][0-9]{0,15}-[A-Za-z0-9_-]{1,16}$" }),
    "Only these dead letters",
    {
      minItems: 1,
      maxItems: eventIdsMax,
    },
  ),
  all: constantTrue("Required without any of the other filters: selects all dead letters visible to the caller"),
};

/** Members of which a selection needs one, so that an empty body selects nothing. */
export const selectionFilters = Object.keys(selection);
const selects = { anyOf: selectionFilters.map((name) => ({ required: [name] })) };

export const redriveForm = closedObject(
  {},
  { ...selection, dry_run: flag("True to count the dead letters without redriving them"), rate_per_second: rate },
);
export const RedriveRequest: typeof redriveForm = { ...redriveForm, ...selects };

export const acknowledgeForm = closedObject(
  {},
  {
    ...selection,
    note: text("Reason, for the record", { maxLength: noteCharactersMax }),
    dry_run: flag("True to count the dead letters without acknowledging them"),
    rate_per_second: integer("Dead letters acknowledged per second at most. Defaults to 100", {
      minimum: 1,
      maximum: ratePerSecondMax,
    }),
  },
);
export const AcknowledgeRequest: typeof acknowledgeForm = { ...acknowledgeForm, ...selects };
