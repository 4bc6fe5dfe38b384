import type { StoredMessage } from "../../nats/messages/stored-messages.ts";

/** Says that somebody handled a dead letter by hand; kept among the attempts of its event. */
export interface HandledNote {
  readonly kind: "handled";
  readonly did: string;
  /** Of the delivery that had ended; a later replay is another matter. */
  readonly generation: number;
  /** ISO 8601 UTC by JetStream's clock. */
  readonly at: string;
  /** Client key of who said so. */
  readonly by: string;
  readonly note?: string;
}

/** The notes among the messages of an event. */
export function parseHandled(messages: readonly Pick<StoredMessage, "data">[]): readonly HandledNote[] {
  return messages.map(({ data }) => parseNote(data)).filter((note) => note !== undefined);
}

/** Whether a delivery that ended in a generation was handled since. */
export function isHandled(
  { did, generation }: { readonly did: string; readonly generation: number },
  notes: readonly HandledNote[],
): boolean {
  return notes.some((note) => note.did === did && note.generation >= generation);
}

function parseNote(data: Uint8Array): HandledNote | undefined {
  try {
    const value = JSON.parse(Buffer.from(data).toString()) as Partial<HandledNote> | null;
    return value?.kind === "handled" && value.did !== undefined ? (value as HandledNote) : undefined;
  } catch {
    return undefined;
  }
}
