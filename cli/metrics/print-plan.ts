import { plain } from "../command-line/plain.ts";
import type { Connect } from "../api/connection.ts";
import { send } from "../api/request.ts";
import { withApi } from "../api/with-api.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import { shortNumber } from "./series.ts";
import type { QueryParameters } from "./query-flags.ts";

/** The plan of a query as the API reports it. */
export interface PlanView {
  readonly allowed: boolean;
  readonly class: string | null;
  readonly cost: number | null;
  readonly step_seconds: number | null;
  readonly points: number | null;
  readonly series_max: number | null;
  readonly regions: readonly { readonly region: string; readonly stores: number }[];
  readonly cache: { readonly expected: string | null } | null;
  readonly budget: { readonly remaining: number; readonly limit: number };
  readonly expression: string | null;
  readonly refusal: {
    readonly code: string;
    readonly detail: string;
    readonly suggestion: { readonly step?: string; readonly query?: string } | null;
  } | null;
}

interface PlanArguments {
  readonly connect: Connect;
  readonly query: QueryParameters;
  readonly isJson: boolean;
}

/** Prints the plan and the price of a query, which is not run. @throws CommandError */
export async function printPlan({ connect, query, isJson }: PlanArguments): Promise<ExitName> {
  return withApi(connect, async (connection): Promise<ExitName> => {
    const { body } = await send(connection, { path: "/v1/metrics/plan", query });
    const text = body.toString().trimEnd();
    process.stdout.write(`${isJson ? text : planText(JSON.parse(text) as PlanView)}\n`);
    return "done";
  });
}

/** One line for each known member. */
export function planText(plan: PlanView): string {
  const lines = [["allowed", plan.allowed ? "yes" : "no"] as const, ...refusalLines(plan), ...planLines(plan)];
  return lines
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(10)}${plain(value)}`]))
    .join("\n");
}

type Line = readonly [name: string, value: string | undefined];

function refusalLines({ refusal }: PlanView): readonly Line[] {
  if (refusal === null) return [];
  const { code, detail, suggestion } = refusal;
  return [
    ["refused", `${code}: ${detail}`],
    ["instead", suggestion?.query ?? (suggestion?.step && `step=${suggestion.step}`)],
  ];
}

function planLines({ cost, budget, cache, regions, expression, ...plan }: PlanView): readonly Line[] {
  if (cost === null) return [];
  return [
    ["class", plan.class ?? undefined],
    [
      "cost",
      `${shortNumber(cost)} cost units; ${shortNumber(budget.remaining)} of ${shortNumber(budget.limit)} are left`,
    ],
    ["points", `${plan.points} of ${plan.step_seconds} s for each of at most ${plan.series_max} series`],
    ["regions", regions.map(({ region, stores }) => `${region} (stores: ${stores})`).join(", ")],
    ["cache", cache?.expected ?? "off"],
    ["promql", expression ?? undefined],
  ];
}
