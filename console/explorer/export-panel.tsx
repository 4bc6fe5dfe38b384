import type { PlanAnswer } from "../../api/quotas.ts";
import type { JSX } from "preact";
import { CodeBlock } from "../components/copy-button.tsx";
import { CsvButton, csvType } from "../components/csv-button.tsx";
import { Panel } from "../components/panel.tsx";
import { type ExplorerQuery, timesOf } from "./explorer-query.ts";

interface ExportProps {
  readonly request: ExplorerQuery;
  /** Parameters of the query. */
  readonly text: string;
  readonly nowMs: number;
  /** Undefined while it is unknown. */
  readonly plan: PlanAnswer | undefined;
}

/** The same query elsewhere: as a file, as a command, and in PromQL. */
export function ExportPanel({ request, text, nowMs, plan }: ExportProps): JSX.Element {
  const url = `${location.origin}/v1/metrics/query${text}`;
  const { from, to } = timesOf(request, nowMs);
  const step = request.step === "" ? {} : { step: request.step };
  const expression = plan?.expression ?? null;
  return (
    <Panel title="Export" isOpen={false}>
      <CsvButton path={`/v1/metrics/query${text}`} name={`${request.metric}.csv`} />
      <p class="hint">The commands read the token from HELIOGRAPH_TOKEN.</p>
      <h3>curl</h3>
      <CodeBlock text={curlLine(url)} what="the command for JSON" />
      <h3>CSV</h3>
      <CodeBlock text={curlLine(url, csvType)} what="the command for CSV" />
      <h3>PromQL</h3>
      {expression === null ? (
        <p class="quiet">{withoutExpression(plan)}</p>
      ) : (
        <>
          <CodeBlock text={expression} what="the expression" />
          <CodeBlock
            text={promqlLine(location.origin, expression, { start: from, end: to, ...step })}
            what="the command for PromQL"
          />
        </>
      )}
    </Panel>
  );
}

/** Why there is no expression. */
function withoutExpression(plan: PlanAnswer | undefined): string {
  if (plan === undefined) return "Not known yet.";
  const { refusal } = plan;
  if (refusal !== null) return `Not available: the query is rejected. ${refusal.title}: ${refusal.detail}`;
  const parts = "metric, aggregation, downsample, top series and earlier window";
  return `Not available: this combination of ${parts} has no equivalent in PromQL.`;
}

/** A word of a POSIX shell, whatever characters it has. */
export function inShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const token = `-H "Authorization: Bearer $HELIOGRAPH_TOKEN"`;

/** A command line for the same query. The token stays in the environment. @param accept @default JSON */
export function curlLine(url: string, accept?: string): string {
  const form = accept === undefined ? "" : ` -H ${inShell(`Accept: ${accept}`)}`;
  return `curl -sS --fail-with-body ${token}${form} ${inShell(url)}`;
}

/** A command line that queries Prometheus' API. */
export function promqlLine(origin: string, expression: string, times: Readonly<Record<string, string>>): string {
  const fields = Object.entries({ query: expression, ...times }).map(
    ([name, value]) => ` --data-urlencode ${inShell(`${name}=${value}`)}`,
  );
  const url = `${origin}/prometheus/api/v1/query_range`;
  return `curl -sS --fail-with-body ${token} -G${fields.join("")} ${inShell(url)}`;
}
