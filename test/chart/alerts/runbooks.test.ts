import { describe, expect, test } from "vitest";
import { alertsOf, ruleFiles } from "./rule-files.ts";
import { runbooks } from "./runbooks.ts";

const alerts = alertsOf(ruleFiles().flatMap(({ rules }) => rules));
const pages = runbooks();
const pageOf = new Map(pages.flatMap((page) => page.alerts.map((alert) => [alert, page.name] as const)));

describe("the runbooks", () => {
  test("are named by every alert, and each names its alerts", () => {
    const named = alerts.map(({ alert, annotations }) => [alert, annotations?.["runbook_url"]]);
    expect(named).toEqual(alerts.map(({ alert }) => [alert, `RUNBOOKS/${pageOf.get(alert) ?? "?"}`]));
    expect([...pageOf.keys()].toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });

  test.each(pages)("$name says symptom, meaning, commands and fix, in this order", ({ text, commands, queries }) => {
    const headings = [...text.matchAll(/^## (.*)$/gmu)].map(([, heading]) => heading);
    expect(headings).toEqual(["Symptom", "Meaning", "Commands", "Fix"]);
    expect(commands.length).toBeGreaterThan(0);
    expect(queries.length).toBeGreaterThan(0);
  });
});
