import type { PartnerConfig } from "../../../crds/config.ts";
import { parseJsonObject } from "../../json/json-object.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";

/** Note that no partner, or not every one, gets an event; stored with the attempts of the event. */
export interface RoutedNote {
  readonly kind: "routed";
  /** Time of the routing, ISO 8601 UTC by JetStream's clock. */
  readonly at: string;
  /** Deliveries that the router published for it. */
  readonly deliveries: number;
  /** Partners that have lost the right to the event; at most 1,024. */
  readonly refused: readonly Pick<PartnerConfig, "uid" | "namespace" | "name">[];
  /** As in a delivery, without a generation; absent in notes of earlier versions. */
  readonly routedBy?: string;
}

/** Parses the first note among the records of an event. Repeated routing may store the note again. */
export function parseRouted(messages: readonly Pick<StoredMessage, "data">[]): RoutedNote | undefined {
  for (const { data } of messages) {
    const note: Partial<RoutedNote> | undefined = parseJsonObject(Buffer.from(data).toString());
    if (note?.kind === "routed" && note.at !== undefined) return note as RoutedNote;
  }
  return undefined;
}
