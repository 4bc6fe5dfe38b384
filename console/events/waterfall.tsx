import type { AttemptHistory, PhasesMs } from "../../api/histories.ts";
import type { JSX } from "preact";
import { type Column, DataTable } from "../components/data-table.tsx";
import { formatMs } from "../components/format.ts";
import { failedPhase } from "./failure-cause.ts";

interface WaterfallProps {
  readonly attempt: AttemptHistory;
  /** Milliseconds of the whole width. */
  readonly scaleMs: number;
}

/** Shorter phases would not be seen. */
const percentMin = 0.4;

/** The phases of an attempt, in order on a line of time. */
export function Waterfall({ attempt, scaleMs }: WaterfallProps): JSX.Element {
  const phases = phasesOf(attempt);
  const percent = (ms: number): string => `${Math.max(percentMin, (ms / scaleMs) * 100)}%`;
  const said = phases.map(({ label, ms }) => `${label} ${formatMs(ms)}`).join(", ");
  return (
    <svg class="waterfall" role="img" aria-label={said === "" ? "No phases" : said} width="100%" height="14">
      <rect class="phase-track" x="0" y="0" width="100%" height="14" />
      {phases.map(({ name, startMs, ms }) => (
        <rect
          key={name}
          class={`phase ${name}`}
          x={`${(startMs / scaleMs) * 100}%`}
          y="2"
          width={percent(ms)}
          height="10"
        />
      ))}
    </svg>
  );
}

const columns: readonly Column<Phase>[] = [
  {
    header: "Phase",
    cell: ({ name, label }) => (
      <>
        <span class={`swatch phase-${name}`} /> {label}
      </>
    ),
  },
  { header: "Start", cell: ({ startMs }) => formatMs(startMs), isNumber: true },
  { header: "Duration", cell: ({ ms }) => formatMs(ms), isNumber: true },
];

interface PhaseTableProps {
  readonly attempt: AttemptHistory;
  /** Which attempt it is, for screen readers. */
  readonly of: string;
}

/** The same as a table. Phases that did not happen are named, since a reused connection has none. */
export function PhaseTable({ attempt, of }: PhaseTableProps): JSX.Element {
  const phases = phasesOf(attempt);
  const isReused = attempt.phases_ms.connect === null && attempt.phases_ms.first_byte !== null;
  return (
    <>
      <DataTable
        caption={`Phases, ${of}`}
        columns={columns}
        rows={phases}
        rowKey={({ name }) => name}
        empty={<p>No phases.</p>}
      />
      {isReused ? <p class="quiet">Sent over a reused connection.</p> : null}
    </>
  );
}

/** A phase of an attempt. */
interface Phase {
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

/**
 * The phases in order. The rest is the request's bytes and the response's body; without a response, it is the phase in
 * which the attempt failed.
 */
export function phasesOf(attempt: AttemptHistory): readonly Phase[] {
  const { phases_ms: phases, duration_ms: total } = attempt;
  const found: Phase[] = [];
  let startMs = 0;
  for (const [name, label] of Object.entries(labels) as [keyof PhasesMs, string][]) {
    const ms = phases[name];
    if (ms === null) continue;
    found.push({ name, label, startMs, ms });
    startMs += ms;
  }
  const rest = roundMs(total - startMs);
  return rest > 0 ? withRest(attempt, found, startMs, rest) : found;
}

function withRest(attempt: AttemptHistory, found: readonly Phase[], startMs: number, ms: number): readonly Phase[] {
  const name = failedPhase(attempt);
  const last = found.at(-1);
  if (attempt.status !== null) return [...found, { name: "rest", label: "Transfer", startMs, ms }];
  if (name === undefined) return [...found, { name: "rest", label: "Other", startMs, ms }];
  if (last?.name === name || (last !== undefined && ms < shortMs))
    return [...found.slice(0, -1), { ...last, ms: roundMs(last.ms + ms) }];
  return [...found, { name, label: labels[name], startMs, ms }];
}

/** A shorter rest after the last measured phase is no phase that was waited for. */
const shortMs = 1;

function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** The longest of some attempts, so that their waterfalls have one scale. Milliseconds, at least one. */
export function scaleOf(attempts: readonly AttemptHistory[]): number {
  return attempts.reduce((longest, attempt) => {
    const last = phasesOf(attempt).at(-1);
    return Math.max(longest, last === undefined ? 0 : last.startMs + last.ms, attempt.duration_ms);
  }, 1);
}
