import type { AttemptHistory } from "../../api/histories.ts";
import type { JSX } from "preact";
import { DataTable, type Column } from "../components/data-table.tsx";
import { formatMs } from "../components/format.ts";
import { phasesOf, type Phase } from "./phases.ts";

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
