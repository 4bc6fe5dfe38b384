import { parseJsonObject } from "../../json/json-object.ts";
import type { StoredMessage } from "../../nats/messages/stored-messages.ts";

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
