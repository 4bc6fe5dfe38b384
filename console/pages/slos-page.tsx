import type { SloAnswer } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
import { ObjectiveFilters } from "../objectives/objective-filters.tsx";
import { ObjectiveTable } from "../objectives/objective-table.tsx";
import { narrowing } from "../objectives/objective-view.ts";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery } from "../router/place.ts";
import { useQueryState } from "../router/router.tsx";

const everySeconds = 60;

/** `/slos`: the objectives of a tenant. */
export function SlosPage(): JSX.Element {
  return (
    <Page title="SLOs" lead="Objectives with the error budget that is left and how fast it is spent.">
      <ObjectiveFilters>{() => <Objectives />}</ObjectiveFilters>
    </Page>
  );
}

function Objectives(): JSX.Element {
  const { query } = useQueryState();
  const path = `/v1/metrics/slo${changedQuery(new URLSearchParams(), narrowing(query))}`;
  const read = useRead<SloAnswer>(path, { everySeconds });
  return (
    <Reading read={read} what="the objectives" lines={8}>
      {({ data }) => <ObjectiveTable objectives={data} />}
    </Reading>
  );
}
