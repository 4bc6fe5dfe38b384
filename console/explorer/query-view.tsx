import type { CatalogEntry } from "../../api/catalog.ts";
import type { QueryAnswer } from "../../api/queries.ts";
import type { PlanAnswer } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { choicesOf } from "../api/choices.ts";
import { useSession } from "../api/session-context.ts";
import { useRead, useRepeat, type ReadState } from "../api/use-read.ts";
import { ChooseTenant } from "../components/choose-tenant.tsx";
import { Empty } from "../components/empty.tsx";
import { Panel } from "../components/panel.tsx";
import { Reading } from "../components/reading.tsx";
import { Link, useQueryState } from "../router/router.tsx";
import { queryText, refreshSecondsOf, type ExplorerQuery } from "./explorer-query.ts";
import { CheaperButton } from "./cheaper-button.tsx";
import { CostFacts, PlanFacts } from "./plan-facts.tsx";
import { ExportPanel } from "./export-panel.tsx";
import { QueryResult } from "./query-result.tsx";
import { Rejection } from "./rejection.tsx";

interface QueryViewProps {
  readonly entry: CatalogEntry;
  readonly request: ExplorerQuery;
  readonly nowMs: number;
  /** Ends the range at the current time. */
  readonly onAgain: () => void;
}

/**
 * The chart of a query, with its cost, plan and exports in side panels. A query whose plan is rejected is not sent; if
 * the plan cannot be read, the query is sent and reports itself what is wrong.
 */
export function QueryView({ entry, request, nowMs, onAgain }: QueryViewProps): JSX.Element {
  const text = queryText(request, nowMs);
  const plan = useRead<PlanAnswer>(`/v1/metrics/plan${text}`);
  const runPath = useRunPath(request.runs ? `/v1/metrics/query${text}` : undefined, plan);
  const result = useRead<QueryAnswer>(runPath);
  const everySeconds = pauseSeconds(request, plan, result);
  useRepeat(everySeconds, !plan.isReading && !result.isReading, onAgain);
  return (
    <div class={everySeconds === undefined ? "explorer" : "explorer live"}>
      <div class="explorer-main">
        <Outcome {...{ entry, request, plan, result }} isRun={runPath !== undefined} />
      </div>
      <div class="explorer-side">
        <Panel title="Cost">
          <Reading read={plan} what="the cost" lines={4}>
            {(data) => <CostFacts metric={entry.metric_id} plan={data} headers={result.headers} />}
          </Reading>
        </Panel>
        <Panel title="Query plan">
          {plan.data === undefined ? <p class="quiet">…</p> : <PlanFacts plan={plan.data} />}
        </Panel>
        <ExportPanel request={request} text={text} nowMs={nowMs} plan={plan.data} />
      </div>
    </div>
  );
}

interface OutcomeProps extends Pick<QueryViewProps, "entry" | "request"> {
  readonly plan: ReadState<PlanAnswer>;
  readonly result: ReadState<QueryAnswer>;
  readonly isRun: boolean;
}

function Outcome({ entry, request, plan, result, isRun }: OutcomeProps): JSX.Element {
  const refusal = plan.isStale ? undefined : plan.data?.refusal;
  if (plan.data !== undefined && refusal !== undefined && refusal !== null) {
    return refusal.code === "tenant_required" ? <NoTenant /> : <Rejection plan={plan.data} refusal={refusal} />;
  }
  if (!request.runs) return <DryRun />;
  return (
    <Reading
      read={isRun ? result : { ...result, isReading: true }}
      what="the series"
      lines={14}
      suggestion={(suggestion) => <CheaperButton suggestion={suggestion} />}
    >
      {(data) => <QueryResult {...{ entry, request }} response={data} headers={result.headers} />}
    </Reading>
  );
}

function NoTenant(): JSX.Element {
  const { me } = useSession();
  return (
    <ChooseTenant
      tenants={choicesOf(me, "tenant") ?? []}
      parameter="filter[tenant]"
      why="A query is about one tenant, and your token may read several."
    />
  );
}

function DryRun(): JSX.Element {
  const { to } = useQueryState();
  return (
    <Empty
      title="Dry run"
      why="The query is allowed. Its cost and plan are alongside; no store was read."
      next={<Link to={to({ run: null })}>Run query</Link>}
    />
  );
}

/** The interval of refreshes, longer if the server requests a pause; undefined without refreshes. */
function pauseSeconds(
  request: ExplorerQuery,
  plan: ReadState<PlanAnswer>,
  result: ReadState<QueryAnswer>,
): number | undefined {
  const everySeconds = refreshSecondsOf(request);
  if (everySeconds === undefined) return undefined;
  const waits = [plan.problem?.retryAfterSeconds, result.problem?.retryAfterSeconds];
  return Math.max(everySeconds, plan.data?.refusal?.retry_after_seconds ?? 0, ...waits.map((wait) => wait ?? 0));
}

/** The path of the query once its plan is known. Until then that of the query before, so that its response stays. */
function useRunPath(path: string | undefined, plan: ReadState<PlanAnswer>): string | undefined {
  const before = useRef<string | undefined>(undefined);
  const isKnown = !plan.isReading && (plan.problem !== undefined || (plan.data !== undefined && !plan.isStale));
  const mayRun = plan.problem !== undefined || plan.data?.allowed === true;
  if (path === undefined) before.current = undefined;
  else if (isKnown) before.current = mayRun ? path : undefined;
  return before.current;
}
