import type { SupportTask } from "./support-person.ts";

/** Questions about the installation as a whole. */
export const homeTasks: readonly SupportTask[] = [
  {
    question: "Is it us or them?",
    run: async (person) => {
      const { page } = person;
      const needs = page.locator("section").filter({ has: page.getByRole("heading", { name: /^Needs attention/u }) });
      // Them: a partner rejected an event, with its status and since when.
      await person.sees(/dead letter, status 422/u, needs);
      await person.sees(/ ago$/u, needs.getByRole("listitem").filter({ hasText: "default/north-ledger" }));
      // Us: attempts reach partners, and the metrics API and its stores are healthy.
      const today = page.locator("section").filter({ has: page.getByRole("heading", { name: /^Deliveries/u }) });
      await person.sees(/^\d+(\.\d)?%$/u, today);
      await person.sees("ok", page.getByRole("table", { name: "Stores" }));
      // All attempts to them or only some: the partner's own figures.
      await person.click(needs.getByRole("link", { name: "default/north-ledger" }).first());
      await person.sees("evt-payout-0002-processed");
    },
  },
];
