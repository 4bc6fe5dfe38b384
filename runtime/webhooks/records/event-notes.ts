import type { RoutedBy } from "../../../api/histories.ts";
import type { PartnerConfig } from "../../../crds/config.ts";
import { parseJsonObject } from "../../json/json-object.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";

/** Note that no partner, or not every one, gets an event; stored with the attempts of the event. */
export interface RoutingNote {
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

/** 64 bits, because a header of every stored delivery carries them. */
const digitsMax = 16;

const form = /^c=(?<configuration>[0-9a-f]{1,64})(?:;g=(?<generation>\d{1,15}))?(?:;|$)/u;

/** Records that a tenant sent an event id of another one. Stored among the attempts of the tenant that was refused. */
export interface TakenNote {
  readonly kind: "id_taken";
  /** The tenant that has the id. */
  readonly holder: string;
  /** Time of the first refusal by JetStream's clock, ISO 8601 UTC. */
  readonly at: string;
}

/** Acknowledgement of a dead letter that was handled manually; stored with the attempts of its event. */
export interface HandledNote {
  readonly kind: "handled";
  readonly did: string;
  /** Generation that had ended. The note does not count for later generations. */
  readonly generation: number;
  /** ISO 8601 UTC by JetStream's clock. */
  readonly at: string;
  /** Client key of the caller. */
  readonly by: string;
  readonly note?: string;
}

/** Parses the first note among the records of an event. Repeated routing may store the note again. */
export function parseRoutingNote(messages: readonly Pick<StoredMessage, "data">[]): RoutingNote | undefined {
  for (const { data } of messages) {
    const note: Partial<RoutingNote> | undefined = parseJsonObject(Buffer.from(data).toString());
    if (note?.kind === "routed" && note.at !== undefined) return note as RoutingNote;
  }
  return undefined;
}

/**
 * The stored form: `c=CONFIGURATION;g=GENERATION`. Pods copy it from step to step as text, so that the members of a
 * later version survive a rollout. @param hash lowercase hex
 */
export function routedByText(hash: string, generation?: number): string {
  const configuration = `c=${hash.slice(0, digitsMax)}`;
  return generation === undefined ? configuration : `${configuration};g=${generation}`;
}

/** Parses the stored form and ignores later members; undefined for any other text. */
export function parseRoutedBy(text: string | undefined): RoutedBy | undefined {
  const { configuration, generation } = form.exec(text ?? "")?.groups ?? {};
  if (configuration === undefined) return undefined;
  return generation === undefined ? { configuration } : { configuration, generation: Number(generation) };
}

/** Parses the acknowledgements among the records of an event. */
export function parseHandled(messages: readonly Pick<StoredMessage, "data">[]): readonly HandledNote[] {
  return messages.flatMap(({ data }) => {
    const note: Partial<HandledNote> | undefined = parseJsonObject(Buffer.from(data).toString());
    return note?.kind === "handled" && note.did !== undefined ? [note as HandledNote] : [];
  });
}

/** Whether the end of a delivery in this generation is acknowledged. */
export function isHandled(
  { did, generation }: { readonly did: string; readonly generation: number },
  notes: readonly HandledNote[],
): boolean {
  return notes.some((note) => note.did === did && note.generation >= generation);
}
