import type { PreviewedFigures, PreviewedSimulation } from "../../api/previews.ts";
import type { JSX } from "preact";
import { DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatMs, formatNumber } from "../components/format.ts";
import { Section } from "../components/page.tsx";

interface SimulatedEffectProps {
  /** Null before the end. */
  readonly simulation: PreviewedSimulation | null;
  readonly isOver: boolean;
}

type PartnerRow = PreviewedSimulation["partners"][number];

/** What follows the first difference. It stands apart from what is exact. */
export function SimulatedEffect({ simulation, isOver }: SimulatedEffectProps): JSX.Element {
  return (
    <div class="simulated">
      <Section
        title="Simulated"
        lead="An estimate: an attempt at a new instant gets the result of the partner's nearest recorded attempt."
      >
        {simulation === null ? (
          <p class="quiet">{isOver ? "Nothing was simulated." : "The simulation follows the count of events."}</p>
        ) : (
          <Simulation simulation={simulation} />
        )}
      </Section>
    </div>
  );
}

function Simulation({ simulation }: { readonly simulation: PreviewedSimulation }): JSX.Element {
  const { complete, left_out: leftOut, not_simulated: others, partners } = simulation;
  return (
    <>
      <p>
        {complete ? "Every affected delivery was simulated." : `${formatNumber(leftOut)} deliveries were left out.`}
        {others.length === 0 ? "" : ` Not simulated, since more than retries and limits changes: ${others.join(", ")}.`}
      </p>
      <DataTable
        caption="Recorded and simulated, by partner"
        rows={partners}
        rowKey={({ partner }) => partner}
        columns={[
          { header: "Partner", cell: ({ partner }) => partner },
          { header: "Deliveries", cell: ({ deliveries }) => formatNumber(deliveries), isNumber: true },
          column("Delivered", ({ delivered }) => formatNumber(delivered)),
          column("Dead letters", ({ dead_letters: dead }) => formatNumber(dead)),
          column("Pending", ({ pending }) => formatNumber(pending)),
          column("Backlog", ({ backlog }) => formatNumber(backlog)),
          column("In flight", ({ in_flight: count }) => formatNumber(count)),
          column("p95", ({ p95_ms: ms }) => formatMs(ms)),
          { header: "Would live", cell: ({ would_live: count }) => formatNumber(count), isNumber: true },
          { header: "Would die", cell: ({ would_die: count }) => formatNumber(count), isNumber: true },
          { header: "Estimated attempts", cell: ({ estimated }) => formatNumber(estimated), isNumber: true },
          { header: "Farthest", cell: ({ farthest_ms: ms }) => formatMs(ms), isNumber: true },
        ]}
        empty={<Empty title="Nothing to simulate" why="The edit moves no retry and no limit of affected deliveries." />}
      />
    </>
  );
}

/** A column of a figure as recorded and as simulated. */
function column(header: string, shown: (figures: PreviewedFigures) => string) {
  return {
    header,
    isNumber: true,
    cell: ({ recorded, simulated }: PartnerRow) => `${shown(recorded)} → ${shown(simulated)}`,
  };
}
