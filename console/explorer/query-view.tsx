import type { CatalogEntry } from "../../api/catalog.ts";
import type { QueryAnswer } from "../../api/queries.ts";
import type { CheaperQuery, PlanAnswer } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { choicesOf } from "../api/choices.ts";
import { useSession } from "../api/session-context.ts";
import { type ReadState, useRead, useRepeat } from "../api/use-read.ts";
import { ChooseTenant } from "../components/choose-tenant.tsx";
import { Empty } from "../components/empty.tsx";
import { Panel } from "../components/panel.tsx";
import { Reading } from "../components/reading.tsx";
import { Link, useQueryState } from "../router/router.tsx";
import { cheaperChange, cheaperWords, type ExplorerQuery, queryText, refreshSecondsOf } from "./explorer-query.ts";
import { CostFacts, PlanFacts } from "./plan-facts.tsx";
import { ExportPanel } from "./export-panel.tsx";
import { QueryResult } from "./query-result.tsx";
import { formatNumber, formatSeconds } from "../components/format.ts";

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
            {(data) => (
              <CostFacts
                metric={entry.metric_id}
                plan={data}
                isWithoutTenant={lacksTenant(data)}
                headers={result.headers}
              />
            )}
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
    return lacksTenant(plan.data) ? <NoTenant /> : <Rejection plan={plan.data} refusal={refusal} />;
  }
  if (!request.runs) return <DryRun />;
  return (
    <Reading
      read={isRun ? result : { ...result, isReading: true }}
      what="the series"
      lines={14}
      suggestion={(suggestion) => <CheaperButton suggestion={suggestion} />}
    >
      {(data) => (
        <QueryResult {...{ entry, request }} response={data} headers={result.headers} atMs={result.atMs ?? 0} />
      )}
    </Reading>
  );
}

/** True for a plan that is rejected because no tenant is chosen yet. */
export function lacksTenant(plan: PlanAnswer): boolean {
  return plan.refusal?.code === "tenant_required";
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

type PlanError = NonNullable<PlanAnswer["refusal"]>;

/** Why a query is rejected before it runs, which limit stops it, and what to change. */
function Rejection({ plan, refusal }: { readonly plan: PlanAnswer; readonly refusal: PlanError }): JSX.Element {
  const { title, detail, code, errors, suggestion, retry_after_seconds: waitSeconds } = refusal;
  const more = errors.filter((error) => error.detail !== detail);
  const isCostly = code === "cost_exceeded";
  return (
    <div class="notice bad" role="alert">
      <p class="notice-title">Query rejected: {title}</p>
      <p>{detail}</p>
      {more.length === 0 ? null : (
        <ul>
          {more.map((error) => (
            <li key={error.field}>
              <code>{error.field}</code>: {error.detail}
            </li>
          ))}
        </ul>
      )}
      {isCostly ? <p>{limitText(plan)}</p> : null}
      <div class="actions">
        {code === "region_forbidden" ? <RegionLinks /> : null}
        {suggestion === null ? null : <CheaperButton suggestion={suggestion} />}
        {waitSeconds === null ? null : <span>Allowed in {formatSeconds(waitSeconds)}.</span>}
        {isCostly || code === "rate_exceeded" ? <Link to="/quotas">Quotas</Link> : null}
        <code class="quiet">{code}</code>
      </div>
    </div>
  );
}

/** Regions to choose from, for a metric that may not be combined across them. */
function RegionLinks(): JSX.Element {
  const { me } = useSession();
  const { to } = useQueryState();
  return (
    <>
      {(choicesOf(me, "region") ?? []).map((region) => (
        <Link key={region} to={to({ "filter[region]": region })}>
          Region {region}
        </Link>
      ))}
    </>
  );
}

/** The cost of a query next to what the class permits. */
function limitText({ cost, class: name, budget }: PlanAnswer): string {
  const { remaining, limit } = budget;
  const estimate = cost === null ? "" : `Estimated cost: ${formatNumber(cost)} units. `;
  const left = `Class ${name ?? "of the query"} has ${formatNumber(remaining)} of ${formatNumber(limit)} units left.`;
  return `${estimate}${left} A shorter time range, a coarser step or fewer groups cost less.`;
}

/** Runs the cheaper query that the server suggests. */
function CheaperButton({ suggestion }: { readonly suggestion: CheaperQuery }): JSX.Element | null {
  const state = useQueryState();
  const change = cheaperChange(suggestion);
  if (Object.keys(change).length === 0) return null;
  return (
    <button type="button" class="primary" onClick={() => state.set({ ...change, page: null, run: null })}>
      Run with {cheaperWords(suggestion)}
    </button>
  );
}
