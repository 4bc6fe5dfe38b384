import type { JSX } from "preact";
import { formatWord } from "./format.ts";

/** How a state is drawn. The word says it too. */
export type Tone = "good" | "busy" | "warn" | "bad" | "quiet";

/** The tones of the states that the API has. */
const tones: Readonly<Record<string, Tone>> = {
  active: "good",
  healthy: "good",
  ok: "good",
  delivered: "good",
  closed: "good",
  completed: "good",
  in_delivery: "busy",
  running: "busy",
  queued: "busy",
  increasing: "warn",
  degraded: "warn",
  held: "warn",
  paused: "warn",
  half_open: "warn",
  rate_limited: "warn",
  expiring: "warn",
  retry: "warn",
  late: "warn",
  partial: "warn",
  recovering: "warn",
  rejected: "bad",
  dead: "bad",
  disabled: "bad",
  open: "bad",
  circuit_open: "bad",
  failed: "bad",
  failing: "bad",
  down: "bad",
  critical: "bad",
};

interface BadgeProps {
  /** A state as the API writes it. */
  readonly state: string;
  /** @default the tone of the state, `quiet` for others */
  readonly tone?: Tone;
  /** @default the state in words */
  readonly label?: string;
}

/** A state in a word and a tone. */
export function Badge({ state, tone, label }: BadgeProps): JSX.Element {
  const known = Object.hasOwn(tones, state) ? tones[state] : undefined;
  return <span class={`badge ${tone ?? known ?? "quiet"}`}>{label ?? formatWord(state)}</span>;
}
