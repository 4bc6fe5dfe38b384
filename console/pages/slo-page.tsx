import type { SloAnswer } from "../../api/objectives.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
import { ObjectiveDetail } from "../objectives/objective-detail.tsx";
import { ObjectiveFilters } from "../objectives/objective-filters.tsx";
import { ObjectiveTable } from "../objectives/objective-table.tsx";
import { narrowing } from "../objectives/objective-view.ts";
import type { PageProps } from "../page-entry.ts";
import { Empty } from "../components/empty.tsx";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { changedQuery } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";

const everySeconds = 60;

/** `/slos/:name`: one objective. */
export function SloPage({ parameters }: PageProps): JSX.Element {
  const name = parameters["name"] ?? "";
  return (
    <Page title={`SLO ${name}`} actions={<Link to="/slos">All SLOs</Link>}>
      <ObjectiveFilters>{() => <Found name={name} />}</ObjectiveFilters>
    </Page>
  );
}

function Found({ name }: { readonly name: string }): JSX.Element {
  const { query } = useQueryState();
  const path = `/v1/metrics/slo${changedQuery(new URLSearchParams(), { slo: name, ...narrowing(query) })}`;
  const read = useRead<SloAnswer>(path, { everySeconds });
  return (
    <Reading read={read} what="the objective" lines={24}>
      {({ data: [objective, ...others] }) => {
        if (objective === undefined) return <NoObjective name={name} />;
        // The same name in several domains or regions: each has a page of its own.
        if (others.length > 0) return <ObjectiveTable objectives={[objective, ...others]} />;
        return <ObjectiveDetail objective={objective} />;
      }}
    </Reading>
  );
}

function NoObjective({ name }: { readonly name: string }): JSX.Element {
  return (
    <Empty
      title={`No objective ${name}`}
      why="No metric that your token may read has an objective of this name that fits the filters."
      next={<Link to="/slos">See all SLOs</Link>}
    />
  );
}
