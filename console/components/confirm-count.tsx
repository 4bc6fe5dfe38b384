import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface ConfirmCountProps {
  /** How many things the action touches. */
  readonly count: number;
  /** What is done: `Replay 1,204 deliveries`. */
  readonly action: string;
  readonly isBusy?: boolean;
  /** False if a field before it has the focus first. @default true */
  readonly takesFocus?: boolean;
  readonly onConfirm: () => void;
  readonly onCancel?: () => void;
}

/** From this count on it must be typed: the button names it, and fewer things need no more. */
const typedFrom = 10;

/** Confirms something that cannot be taken back, by a button with its count; a larger count must be typed. */
export function ConfirmCount(props: ConfirmCountProps): JSX.Element {
  const { count, action, isBusy = false, takesFocus = true, onConfirm, onCancel } = props;
  const [typed, setTyped] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (takesFocus) (field.current ?? button.current)?.focus();
  }, []);
  const isTyped = mustType(count);
  const isRight = !isTyped || typed.replaceAll(/[\s,]/gu, "") === String(count);
  const confirm = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isRight && !isBusy) onConfirm();
  };
  return (
    <form class="confirm" onSubmit={confirm}>
      {isTyped ? (
        <label>
          <span>
            Enter <strong>{count}</strong> to confirm
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
      ) : null}
      <button ref={button} type="submit" class="danger" disabled={!isRight || isBusy}>
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

/** Whether a count must be typed. */
export function mustType(count: number): boolean {
  return count >= typedFrom;
}
