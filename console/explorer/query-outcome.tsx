import type { CatalogEntry } from "../../api/catalog.ts";
import type { QueryAnswer } from "../../api/queries.ts";
import type { PlanAnswer } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useRead, type Read } from "../api/use-read.ts";
import { Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { queryText, type AskedQuery } from "./asked-query.ts";
import { CheaperButton } from "./cheaper-button.tsx";
import { PlanFacts } from "./plan-facts.tsx";
import { QueryResult } from "./query-result.tsx";
import { TakeAlong } from "./take-along.tsx";

interface QueryOutcomeProps {
  readonly entry: CatalogEntry;
  readonly asked: AskedQuery;
  readonly nowMs: number;
  readonly onAgain: () => void;
}

/**
 * The plan of a query, then its answer. A query whose plan is refused is not sent; one whose plan cannot be read is,
 * and then says itself what is wrong.
 */
export function QueryOutcome({ entry, asked, nowMs, onAgain }: QueryOutcomeProps): JSX.Element {
  const text = queryText(asked, nowMs);
  const plan = useRead<PlanAnswer>(`/v1/metrics/plan${text}`);
  const runPath = useRunPath(asked.runs ? `/v1/metrics/query${text}` : undefined, plan);
  const result = useRead<QueryAnswer>(runPath);
  return (
    <>
      <Section
        title="Plan and price"
        lead="Said by the server before the query runs; the plan takes one request and no cost units."
      >
        <Reading read={plan} what="the plan" lines={6}>
          {(data) => <PlanFacts plan={data} />}
        </Reading>
      </Section>
      {runPath === undefined ? null : (
        <Section
          title="Answer"
          actions={
            <button type="button" onClick={onAgain}>
              Ask again
            </button>
          }
        >
          <Reading
            read={result}
            what="the answer"
            lines={12}
            suggestion={(suggestion) => <CheaperButton suggestion={suggestion} />}
          >
            {(data) => <QueryResult entry={entry} answer={data} headers={result.headers} />}
          </Reading>
        </Section>
      )}
      <TakeAlong asked={asked} text={text} nowMs={nowMs} expression={plan.data?.expression ?? null} />
    </>
  );
}

/** The path of the query once its plan is known. Until then that of the query before, so that its answer stays. */
function useRunPath(path: string | undefined, plan: Read<PlanAnswer>): string | undefined {
  const before = useRef<string | undefined>(undefined);
  const isKnown = !plan.isReading && (plan.problem !== undefined || (plan.data !== undefined && !plan.isStale));
  const mayRun = plan.problem !== undefined || plan.data?.allowed === true;
  if (path === undefined) before.current = undefined;
  else if (isKnown) before.current = mayRun ? path : undefined;
  return before.current;
}
