import { parseEvent } from "../../nats/layout.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";
import type { AttemptsStream } from "../../nats/streams/attempts-stream.ts";
import type { EventsStream } from "../../nats/streams/events-stream.ts";
import { eventHash } from "../ids.ts";
import { readEvent } from "../records/event-record.ts";
import type { TakenNote } from "../records/taken-note.ts";

/** The response to `GET /webhooks/event-ids/:id`: the tenants that have an id, and those that were refused it. */
export interface EventIdUse {
  readonly event_id: string;
  /** More than one only for events stored before ids were unique in the installation. */
  readonly events: readonly { readonly tenant: string; readonly type: string; readonly accepted_at: string }[];
  /** The first refusal of each tenant. */
  readonly refused: readonly { readonly tenant: string; readonly held_by: string; readonly at: string }[];
}

interface EventIdUseDeps {
  readonly events: Pick<EventsStream, "findEach">;
  readonly attempts: Pick<AttemptsStream, "lastOfEach">;
}

/** The use of an id by these tenants (`*`: by all); undefined when none of them uses it. */
export async function readEventIdUse(
  deps: EventIdUseDeps,
  eventId: string,
  tenants: readonly string[],
): Promise<EventIdUse | undefined> {
  const idhash = eventHash(eventId);
  const [stored, records] = await Promise.all([
    deps.events.findEach(tenants, idhash),
    deps.attempts.lastOfEach(tenants, idhash),
  ]);
  const events = stored.flatMap((message) => readEvent(message) ?? []).toSorted((a, b) => a.seq - b.seq);
  const refused = records.flatMap((message) => refusalOf(message));
  if (events.length === 0 && refused.length === 0) {
    return undefined;
  }
  return {
    event_id: eventId,
    events: events.map(({ tenant, type, acceptedAtMs }) => ({
      tenant,
      type,
      accepted_at: new Date(acceptedAtMs).toISOString(),
    })),
    refused: refused.toSorted((a, b) => a.at.localeCompare(b.at)),
  };
}

function refusalOf({ subject, data }: StoredMessage): EventIdUse["refused"] {
  const { tenant = "" } = parseEvent(subject) ?? {};
  const note = JSON.parse(Buffer.from(data).toString()) as Partial<TakenNote> | null;
  const { kind, holder = "", at = "" } = note ?? {};
  return kind === "id_taken" ? [{ tenant, held_by: holder, at }] : [];
}
