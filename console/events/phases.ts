import type { AttemptHistory, PhasesMs } from "../../api/histories.ts";

/** A phase of an attempt. */
export interface Phase {
  readonly name: keyof PhasesMs | "rest";
  readonly label: string;
  readonly startMs: number;
  readonly ms: number;
}

const labels: Readonly<Record<keyof PhasesMs, string>> = {
  dns: "DNS lookup",
  connect: "TCP connect",
  tls: "TLS handshake",
  first_byte: "Waiting (TTFB)",
};

/** The phases in order. The rest is the request's bytes and the response's body. */
export function phasesOf({ phases_ms: phases, duration_ms: total }: AttemptHistory): readonly Phase[] {
  const found: Phase[] = [];
  let startMs = 0;
  for (const [name, label] of Object.entries(labels) as [keyof PhasesMs, string][]) {
    const ms = phases[name];
    if (ms === null) continue;
    found.push({ name, label, startMs, ms });
    startMs += ms;
  }
  const rest = Math.round((total - startMs) * 10) / 10;
  return rest > 0 ? [...found, { name: "rest", label: "Transfer", startMs, ms: rest }] : found;
}

/** The longest of some attempts, so that their waterfalls have one scale. Milliseconds, at least one. */
export function scaleOf(attempts: readonly AttemptHistory[]): number {
  return attempts.reduce((longest, attempt) => {
    const last = phasesOf(attempt).at(-1);
    return Math.max(longest, last === undefined ? 0 : last.startMs + last.ms, attempt.duration_ms);
  }, 1);
}
