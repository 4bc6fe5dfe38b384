import { expect } from "vitest";
import { demoEvent } from "../../demo/events.ts";
import { waitFor } from "../../support/wait.ts";
import type { ConsoleVisitor } from "../console-visitor.ts";
import type { SupportTask } from "./support-person.ts";

const hourMs = 3_600_000;

/** Questions about events and attempts. */
export const eventTasks: readonly SupportTask[] = [
  {
    question: "Where is event X?",
    run: async (person, { events }) => {
      await person.press("/");
      await person.fill(person.page.getByRole("combobox", { name: "Search" }), events.rejected);
      await person.press("Enter");
      await person.page.getByRole("heading", { level: 1, name: events.rejected }).waitFor();
      await person.sees("1 rejected");
      await person.sees("1 delivered");
    },
  },
  {
    question: "Which deliveries to a partner failed since 10:00, and why?",
    prepare: publishDelivered,
    run: async (person, { events }) => {
      const { page } = person;
      await person.click(page.getByRole("link", { name: "Events", exact: true }));
      await person.click(page.getByRole("button", { name: "Custom" }));
      await person.fill(page.getByLabel("From"), new Date(Date.now() - hourMs).toISOString().slice(0, 19));
      await person.press("Enter");
      await person.fill(page.getByLabel("Partner", { exact: true }), "default/north-ledger");
      await person.press("Tab");
      // The state is a select: a letter chooses the option that begins with it.
      await page.waitForURL(/partner=/u);
      await person.press("f");
      await page.waitForURL(/state=failed/u);
      const rows = page.locator(".event-row");
      await waitFor(async () => (await rows.count()) === 1, { timeoutMs: 20_000, what: "the failed delivery alone" });
      await person.sees(events.rejected, rows);
      await person.sees("HTTP 422", rows);
      await person.click(rows.getByRole("link", { name: events.rejected }));
      await person.sees("The payout is already reversed");
    },
  },
  {
    question: "What exactly did we send?",
    run: async (person, { events }) => {
      const { page } = person;
      await person.press("/");
      await person.fill(page.getByRole("combobox", { name: "Search" }), events.rejected);
      await person.press("Enter");
      await person.sees(/^POST http:\/\/127\.0\.0\.1:\d+\//u);
      await person.sees(`X-Event-Id: ${events.rejected}`);
      await person.sees("X-Signature: v1=");
      await person.click(page.getByText("Body as signed,").first());
      const body = page.getByRole("region", { name: "Request body, attempt 1 to default/north-ledger" });
      await body.waitFor();
      expect(JSON.parse(await body.innerText())).toMatchObject({ event_id: events.rejected, attempt: 1 });
    },
  },
];

/** Another event of the same partner, which must not be among the failed ones. */
async function publishDelivered({ installation }: ConsoleVisitor): Promise<void> {
  const { body } = demoEvent("evt-delivered-to-all", "payout.created", Date.now(), { amount: 1 });
  const headers = { authorization: `Bearer ${await installation.token("admin")}`, "content-type": "application/json" };
  const { status } = await fetch(`${installation.url}/events`, { method: "POST", headers, body });
  expect(status).toBe(202);
}
