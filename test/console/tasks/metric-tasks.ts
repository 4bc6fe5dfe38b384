import type { SupportTask } from "./support-person.ts";

const quotaEdit = `apiVersion: heliograph.dev/v1alpha1
kind: QueryClassQuota
metadata: { name: analytics }
spec: { class: C, limits: { maxSeries: 7 } }
`;

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
      await person.sees(/^\d+ \(\d.*%\)$/u, page.getByRole("table", { name: "The objective by region" }));
      await person.click(page.getByRole("link", { name: "Open in Explorer" }));
      await person.sees("newest sample");
    },
  },
  {
    question: "What does a query cost?",
    run: async (person) => {
      const { page } = person;
      await person.click(page.getByRole("navigation").getByRole("link", { name: "Explorer" }));
      await person.click(page.getByRole("link", { name: "auth_success_rate" }));
      await person.click(page.locator("main").getByRole("link", { name: "lumen", exact: true }));
      await person.sees(/Estimated cost: [\d,]+ units/u);
      await person.sees(/[\d,]+ of [\d,]+ units left/u);
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
