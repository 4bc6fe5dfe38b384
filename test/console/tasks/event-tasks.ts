import type { SupportTask } from "./support-person.ts";

/** Questions about events and attempts. */
export const eventTasks: readonly SupportTask[] = [
  {
    question: "Where is event X?",
    run: async (person, { events }) => {
      await person.press("/");
      await person.fill(person.page.getByRole("combobox", { name: "Search" }), events.rejected);
      await person.press("Enter");
      await person.page.getByRole("heading", { level: 1, name: events.rejected }).waitFor();
      await person.sees("rejected");
      await person.sees("default/north-ledger");
    },
  },
];
