import type { PartnerConfig } from "../../../crds/config.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";

/** Says that the router gave an event to nobody, or not to some partners; kept among the attempts of the event. */
export interface RoutedNote {
  readonly kind: "routed";
  /** When the event was routed, ISO 8601 UTC by JetStream's clock. */
  readonly at: string;
  /** Deliveries that were made of it. */
  readonly deliveries: number;
  /** Partners whose right to get the event was withdrawn; at most 1,024. */
  readonly refused: readonly Pick<PartnerConfig, "uid" | "namespace" | "name">[];
}

/** The first note among the messages of an event: an event is routed once, though a repeat may store its note again. */
export function parseRouted(messages: readonly Pick<StoredMessage, "data">[]): RoutedNote | undefined {
  for (const { data } of messages) {
    const note = parseNote(data);
    if (note !== undefined) return note;
  }
  return undefined;
}

function parseNote(data: Uint8Array): RoutedNote | undefined {
  try {
    const value = JSON.parse(Buffer.from(data).toString()) as Partial<RoutedNote> | null;
    return value?.kind === "routed" && value.at !== undefined ? (value as RoutedNote) : undefined;
  } catch {
    return undefined;
  }
}
