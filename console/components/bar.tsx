import type { JSX } from "preact";
import type { Tone } from "./badge.tsx";

interface BarProps {
  /** From 0 to 1; others are cut. Null draws an empty bar. */
  readonly share: number | null;
  /** What it is, with its figures, for screen readers: `Requests left: 40 of 60`. */
  readonly label: string;
  /** @default "busy" */
  readonly tone?: Tone;
}

/** A share as a bar. The figures stand next to it as text. */
export function Bar({ share, label, tone = "busy" }: BarProps): JSX.Element {
  const width = Math.min(Math.max(share ?? 0, 0), 1) * 100;
  return (
    <svg class={`bar ${tone}`} viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label={label}>
      <rect class="bar-back" width="100" height="8" />
      <rect class="bar-front" width={width} height="8" />
    </svg>
  );
}
