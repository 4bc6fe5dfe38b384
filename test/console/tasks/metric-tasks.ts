import type { UsageAnswer } from "../../../api/usage.ts";
import { waitFor } from "../../support/wait.ts";
import type { ConsoleInstallation } from "../console-installation.ts";
import type { SupportTask } from "./support-person.ts";

const costly = "bet_settle_p99_ms";
/** Usage is written every few seconds. */
const countedMsMax = 15_000;
const quotaEdit = `apiVersion: heliograph.dev/v1alpha1
kind: QueryClassQuota
metadata: { name: analytics }
spec: { class: C, limits: { maxSeries: 7 } }
`;

async function read(installation: ConsoleInstallation, path: string): Promise<Response> {
  const headers = { authorization: `Bearer ${await installation.token("admin")}` };
  return fetch(`${installation.url}${path}`, { headers });
}

async function statusOf(installation: ConsoleInstallation, path: string): Promise<number> {
  return (await read(installation, path)).status;
}

/** The metric whose queries cost most, as the API has it. */
async function mostExpensive(installation: ConsoleInstallation): Promise<string> {
  const response = await read(installation, "/v1/metrics/usage?group_by=metric&from=now-24h");
  const { data } = (await response.json()) as UsageAnswer;
  const [first] = data.toSorted((a, b) => b.cost - a.cost);
  return first?.metric ?? "a metric with usage";
}

/** Questions about metrics, objectives and edits. */
export const metricTasks: readonly SupportTask[] = [
  {
    question: "Why is a budget burning?",
    run: async (person) => {
      const { page } = person;
      await person.click(page.getByRole("navigation").getByRole("link", { name: "SLOs" }));
      // The worst is first.
      await person.click(page.getByRole("table", { name: "Objectives" }).getByRole("link").first());
      await person.sees("The error budget is spent");
      await person.sees(/The budget burns at .* times the sustainable rate in the last 3 d/u);
      await person.sees("burning", page.getByRole("table", { name: "Burn rates by window" }));
      await person.sees(/^[\d,]+ \(\d.*%\)$/u, page.getByRole("table", { name: "The objective by region" }));
      await person.click(page.getByRole("link", { name: "Open in Explorer" }));
      await person.sees("newest sample");
    },
  },
  {
    question: "Which metric costs most?",
    prepare: async ({ installation }) => {
      // Pages with objectives of gauges read slices again and again: the metric must cost far more than these. No step
      // is a multiple of another, so that no point is made of cached ones.
      for (const step of ["2m", "3m", "5m", "7m", "11m", "13m"]) {
        for (const tenant of ["lumen", "vega"]) {
          const query = `metric=${costly}&agg=p99&last=24h&step=${step}&group_by=region,service,version`;
          const status = await statusOf(installation, `/v1/metrics/query?${query}&filter[tenant]=${tenant}`);
          if (status !== 200) throw new Error(`the costly query has the status ${status}`);
        }
      }
      const isCounted = async (): Promise<boolean> => (await mostExpensive(installation)) === costly;
      await waitFor(isCounted, { timeoutMs: countedMsMax, pollMs: 200, what: "the usage of the costly queries" });
    },
    run: async (person, installation) => {
      const { page } = person;
      await person.click(page.getByRole("navigation").getByRole("link", { name: "Explorer" }));
      await person.sees("Cost of the queries of all clients");
      await person.click(page.getByRole("link", { name: "Cost", exact: true }));
      const first = page.getByRole("table", { name: "Metrics of the catalog" }).locator("tbody tr").first();
      await person.sees(await mostExpensive(installation), first);
      await person.sees(/^[\d,]{3,} units$/u, first);
      await person.click(first.getByRole("link"));
      await person.click(page.locator("main").getByRole("link", { name: "lumen", exact: true }));
      await person.sees(/Estimated cost: [\d,]+ units/u);
      await person.sees(/Last 24 hours, all clients: [\d,]+ units for \d+ requests?/u);
    },
  },
  {
    question: "What would this edit change?",
    run: async (person) => {
      const { page } = person;
      await person.click(page.getByRole("navigation").getByRole("link", { name: "Preview" }));
      await person.fill(page.getByLabel("Edited resources, YAML"), quotaEdit);
      await person.click(page.getByRole("button", { name: "Preview" }));
      await person.sees("limits.maxSeries");
      await person.sees("completed");
    },
  },
];
