import { demoEvent } from "../../demo/events.ts";
import { waitFor } from "../../support/wait.ts";
import type { PartnerHealth } from "../../../api/partner-health.ts";
import { failing } from "../console-installation.ts";
import type { ConsoleVisitor } from "../console-visitor.ts";
import type { SupportTask } from "./support-person.ts";

const failedMsMax = 30_000;
const [namespace = "", name = ""] = failing.partner.split("/");

/** Sends three events to the partner whose endpoint is away, and waits until they failed. */
async function failDeliveries({ installation }: ConsoleVisitor): Promise<void> {
  const { url } = installation;
  const headers = { authorization: `Bearer ${await installation.token("admin")}`, "content-type": "application/json" };
  for (const number of [1, 2, 3]) {
    const { body } = demoEvent(`evt-drill-${number}`, failing.type, Date.now(), { number });
    await fetch(`${url}/events`, { method: "POST", headers, body });
  }
  const health = async (): Promise<PartnerHealth["kind"]> => {
    const response = await fetch(`${url}/webhooks/partners/${namespace}/${name}`, { headers });
    return ((await response.json()) as { readonly health: PartnerHealth }).health.kind;
  };
  await waitFor(async () => (await health()) === "failing", { timeoutMs: failedMsMax, what: "a failing partner" });
}

/** Questions about partners and their keys. */
export const partnerTasks: readonly SupportTask[] = [
  {
    question: "Which partner is unhealthy?",
    prepare: failDeliveries,
    run: async (person) => {
      const { page } = person;
      await person.click(page.getByRole("navigation").getByRole("link", { name: "Partners", exact: true }));
      // The partner that is not applied comes before it.
      const first = page.locator("tbody tr").nth(1);
      await person.sees(failing.partner, first);
      await person.sees("failing", first);
      await person.sees("attempts failed in the last 15 min", first);
    },
  },
  {
    question: "Is it us or them?",
    prepare: failDeliveries,
    run: async (person) => {
      const { page } = person;
      await person.sees("failing");
      await person.click(page.locator("main").getByRole("link", { name: failing.partner }).first());
      await person.sees("Could not connect to the endpoint: the port is closed");
      await person.sees("The endpoint did not respond: the cause is at the partner or on the network to it.");
      await person.sees("http://127.0.0.1:9/hooks/drills?token=***");
    },
  },
  {
    question: "When does a key end?",
    run: async (person) => {
      const { page } = person;
      await person.click(page.getByRole("navigation").getByRole("link", { name: "Partners", exact: true }));
      await person.click(page.getByRole("link", { name: "Next key expiry" }));
      const first = page.locator("tbody tr").first();
      await person.sees("in 20 d", first);
      await person.click(first.getByRole("link").first());
      await page.getByRole("heading", { level: 1, name: failing.partner }).waitFor();
      await person.sees(failing.key);
      await person.sees("in 20 d");
    },
  },
];
