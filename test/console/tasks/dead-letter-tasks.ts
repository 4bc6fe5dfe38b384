import type { SupportTask } from "./support-person.ts";

const hourMs = 3_600_000;

/** Questions about dead letters. */
export const deadLetterTasks: readonly SupportTask[] = [
  {
    question: "Resend the failed deliveries to a partner since 10:00",
    run: async (person, { events }) => {
      const { page } = person;
      const needs = page.locator("section").filter({ has: page.getByRole("heading", { name: /^Needs attention/u }) });
      const line = needs.getByRole("listitem").filter({ hasText: /dead letter, status 422/u });
      await person.click(line.getByRole("link", { name: "default/north-ledger" }));
      await person.sees(events.rejected);
      await person.click(page.getByRole("button", { name: "Custom" }));
      await person.fill(page.getByLabel("From"), new Date(Date.now() - hourMs).toISOString().slice(0, 19));
      await person.press("Enter");
      await page.waitForURL(/from=/u);
      await person.click(page.getByRole("button", { name: "Redrive all that match" }));
      await person.click(page.getByRole("button", { name: "Redrive 1 dead letter" }));
      await person.sees("0 delivered, 1 failed of 1");
    },
  },
];
