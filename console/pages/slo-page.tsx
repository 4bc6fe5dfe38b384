import type { JSX } from "preact";
import { ChooseTenant } from "../components/choose-tenant.tsx";
import { Empty } from "../components/empty.tsx";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { ObjectiveDetail } from "../objectives/objective-detail.tsx";
import { ObjectiveTable } from "../objectives/objective-table.tsx";
import { type Objectives, useObjectives } from "../objectives/use-objectives.ts";
import type { PageProps } from "../page-entry.ts";
import { Link, useQueryState } from "../router/router.tsx";

/** `/slos/:name`: one objective. */
export function SloPage({ parameters }: PageProps): JSX.Element {
  const name = parameters["name"] ?? "";
  const { get } = useQueryState();
  const objectives = useObjectives({ slo: name, domain: get("domain") });
  const title = objectives.read.data?.find((one) => one.name === name)?.title ?? name;
  return (
    <Page title={`SLO ${title}`} actions={<Link to="/slos">All SLOs</Link>}>
      <Found {...{ name, objectives }} />
    </Page>
  );
}

interface FoundProps {
  readonly name: string;
  readonly objectives: Objectives;
}

function Found({ name, objectives: { read, tenants } }: FoundProps): JSX.Element {
  if (tenants === undefined)
    return <ChooseTenant tenants={[]} parameter="tenant" why="Objectives are counted for one tenant." />;
  return (
    <Reading read={read} what="the objective" lines={24}>
      {([objective, ...others]) => {
        if (objective === undefined) return <NoObjective name={name} />;
        // The same name in several tenants, domains or regions: each has its page.
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
      why="No metric that your token may read has an objective of this name within the filters of the address."
      next={<Link to="/slos">All SLOs</Link>}
    />
  );
}
