import type { JSX } from "preact";
import { ChooseTenant } from "../components/choose-tenant.tsx";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { narrowed, ObjectiveFilters } from "../objectives/objective-filters.tsx";
import { ObjectiveTable } from "../objectives/objective-table.tsx";
import { tenantsMax, useObjectives } from "../objectives/use-objectives.ts";
import { useQueryState } from "../router/router.tsx";

/** `/slos`: all objectives that the token may read, the worst first. */
export function SlosPage(): JSX.Element {
  const { query } = useQueryState();
  const { read, tenants, choices } = useObjectives();
  const hidden = (choices?.length ?? 0) - (tenants?.length ?? 0);
  return (
    <Page title="SLOs">
      <ObjectiveFilters objectives={read.data ?? []} />
      {tenants === undefined ? (
        <ChooseTenant
          tenants={[]}
          parameter="tenant"
          why="Objectives are counted for one tenant, and the configuration names none for your token."
        />
      ) : (
        <>
          {query.get("tenant") !== null || hidden <= 0 ? null : (
            <p class="notice warn">
              Objectives of the first {tenantsMax} tenants. Choose a tenant to see those of the other {hidden}.
            </p>
          )}
          <Reading read={read} what="the objectives" lines={8}>
            {(objectives) => <ObjectiveTable objectives={narrowed(objectives, query)} />}
          </Reading>
        </>
      )}
    </Page>
  );
}
