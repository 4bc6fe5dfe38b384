import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface ConfirmCountProps {
  /** How many things the action touches. */
  readonly count: number;
  /** What is done: `Replay 1,204 deliveries`. */
  readonly action: string;
  readonly isBusy?: boolean;
  readonly onConfirm: () => void;
  readonly onCancel?: () => void;
}

/** Asks for the count to be typed before something that cannot be taken back. */
export function ConfirmCount({ count, action, isBusy = false, onConfirm, onCancel }: ConfirmCountProps): JSX.Element {
  const [typed, setTyped] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const isRight = typed.trim() === String(count);
  const confirm = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isRight && !isBusy) onConfirm();
  };
  return (
    <form class="confirm" onSubmit={confirm}>
      <label>
        <span>
          Type <strong>{count}</strong> to confirm
        </span>
        <input
          ref={field}
          inputMode="numeric"
          autoComplete="off"
          maxLength={12}
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="danger" disabled={!isRight || isBusy}>
        {action}
      </button>
      {onCancel === undefined ? null : (
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      )}
    </form>
  );
}
