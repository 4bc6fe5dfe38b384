import type { Environment } from "../command-line/given.ts";
import { createOutput, type Column } from "../api/output.ts";
import { send } from "../api/request.ts";
import { say } from "../api/terminal.ts";
import { withApi } from "../api/with-api.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import { chartOf } from "./chart.ts";
import type { SloArguments } from "./print-slos.ts";
import { percent } from "./slo-view.ts";

/** An instant of a history. Shares are of all events, and null without events. */
interface HistoryPoint {
  readonly at: string;
  readonly sli: number | null;
  readonly remaining: number | null;
}

/** The response to `GET /v1/metrics/slo/history`. */
interface SloHistory {
  readonly data: readonly HistoryPoint[];
  readonly meta: {
    readonly name: string;
    readonly tenant: string;
    readonly objective: number;
    readonly regions: readonly { readonly region: string; readonly state: string }[];
    readonly partial: boolean;
  };
}

const widthDefault = 80;

/** Prints the error budget of one objective at instants over its window. @throws CommandError */
export async function printSloHistory(args: SloArguments, environment: Environment): Promise<ExitName> {
  const { connect, query, output } = args;
  return withApi(connect, async (connection): Promise<ExitName> => {
    const { body } = await send(connection, { path: "/v1/metrics/slo/history", query });
    const history = JSON.parse(body.toString()) as SloHistory;
    const { data, meta } = history;
    if (output === "chart") process.stdout.write(chartText(history));
    else {
      const printed = createOutput(output, environment);
      await printed.one(body, () => printed.table(columnsOf(history), data));
    }
    const missing = meta.regions.filter(({ state }) => state !== "ok");
    if (meta.partial) say(`partial: ${missing.map(({ region, state }) => `${region} (${state})`).join(", ")}`);
    if (data.every(({ remaining }) => remaining === null)) say("the stores have no events of this window");
    return "done";
  });
}

function columnsOf(history: SloHistory): readonly Column<HistoryPoint>[] {
  return [
    { title: "AT", cell: ({ at }) => at },
    { title: "ACTUAL", cell: ({ sli }) => percent(sli ?? undefined) },
    { title: "BUDGET LEFT", cell: (point) => percent(leftOf(point, history)) },
  ];
}

/** Share of the error budget that was left, negative when overspent. */
function leftOf({ remaining }: HistoryPoint, { meta: { objective } }: SloHistory): number | undefined {
  return remaining === null || objective >= 1 ? undefined : remaining / (1 - objective);
}

function chartText(history: SloHistory): string {
  const { data, meta } = history;
  const points = data.flatMap((point): readonly (readonly [string, number])[] => {
    const left = leftOf(point, history);
    return left === undefined ? [] : [[point.at, left * 100]];
  });
  const series = { metric: `${meta.name}: % of the error budget left`, labels: { tenant: meta.tenant }, points };
  const [fromMs = 0, toMs = 0] = [data[0], data.at(-1)].map((point) => Date.parse(point?.at ?? ""));
  return chartOf(series, { fromMs, toMs }, process.stdout.columns || widthDefault);
}
