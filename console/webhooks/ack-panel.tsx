import type { Ack, DeadLetter } from "../../api/replays.ts";
import type { JSX, RefObject } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSend } from "../api/use-send.ts";
import { useAnnounce } from "../components/announcer.tsx";
import { useEscape } from "../components/panel.tsx";
import { ProblemNotice } from "../components/problem-notice.tsx";
import { EventLink } from "./links.tsx";

interface AckPanelProps {
  readonly letter: DeadLetter;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const noteLengthMax = 1_024;

/** Marks a dead letter as handled manually: it counts as delivered from then on. */
export function AckPanel({ letter, onDone, onClose }: AckPanelProps): JSX.Element {
  const { isSending, problem, response, send } = useSend<Ack>();
  const announce = useAnnounce();
  const [note, setNote] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const panel = useEscape<HTMLElement>(onClose, !isSending);
  // The row of the button may be far below.
  useLayoutEffect(() => field.current?.focus(), []);
  const { event_id: id, partner, tenant } = letter;
  const acknowledge = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const body = { event_id: id, partner, tenant, ...(note.trim() === "" ? {} : { note: note.trim() }) };
    const done = await send("/webhooks/ack", { method: "POST", body });
    if (done === undefined) return;
    announce("Acknowledged");
    onDone();
  };
  return (
    <section ref={panel} class="notice action-panel" aria-label="Acknowledge dead letter">
      <p class="notice-title">Acknowledge dead letter</p>
      <p>
        <EventLink id={id} /> to {partner} counts as delivered from then on. Its dead letter is removed.
      </p>
      {response === undefined ? (
        <form class="confirm" onSubmit={(event) => void acknowledge(event)}>
          <AckNote note={note} onNote={setNote} field={field} />
          <button type="submit" class="danger" disabled={isSending}>
            Acknowledge
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </form>
      ) : (
        <div class="actions">
          <p>Acknowledged. {recipientText(response.body)}</p>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      )}
      {problem === undefined ? null : <ProblemNotice problem={problem} />}
    </section>
  );
}

interface AckNoteProps {
  readonly note: string;
  readonly onNote: (note: string) => void;
  readonly field?: RefObject<HTMLInputElement | null>;
}

/** The note of an acknowledgement, and who reads it. */
export function AckNote({ note, onNote, field }: AckNoteProps): JSX.Element {
  const id = useId();
  return (
    <label class="note-field">
      <span>Note to the partner (optional)</span>
      <input
        {...(field === undefined ? {} : { ref: field })}
        value={note}
        maxLength={noteLengthMax}
        aria-describedby={id}
        onInput={(event) => onNote(event.currentTarget.value)}
      />
      <span id={id} class="hint">
        Sent to the partner with the acknowledgement, and kept with the event.
      </span>
    </label>
  );
}

function recipientText({ recipient }: Ack): string {
  if (recipient === null) return "";
  const { status, error } = recipient;
  if (status !== null) return `The partner was notified and responded with ${status}.`;
  return `The partner could not be notified: ${error ?? "no response"}.`;
}
