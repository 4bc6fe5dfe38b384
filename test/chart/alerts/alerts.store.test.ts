import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { judged } from "../judges.ts";
import { type AlertCase, alertCases } from "./cases.ts";
import { alertsOf, ruleFiles } from "./rule-files.ts";

const files = ruleFiles();
const rules = files.flatMap((file) => file.rules);
const alerts = alertsOf(rules);
const severities = ["critical", "warning", "info"];

let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder("alerts");
});
afterAll(() => folder.remove());

const text = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(", ");

/** A series of the installation, unless its selector names another one. */
function placed(selector: string, more: string): string {
  const own = selector.includes("release=") ? "" : 'namespace="NAMESPACE", release="RELEASE"';
  const [name = "", rest = ""] = selector.split("{");
  const labels = [own, more, rest.slice(0, -1).replace(/^, /u, "")].filter((part) => part !== "");
  return `${name}{${labels.join(", ")}}`;
}

interface Moment {
  readonly name: string;
  readonly moment: AlertCase["present"];
  /** A label of every series. */
  readonly more?: Readonly<Record<string, string>>;
}

/** An alert at a moment, as a group of promtool. */
function groupOf(alert: string, { name, moment: { series, at, fires = [] }, more = {} }: Moment): object {
  const severity = alerts.find((rule) => rule.alert === alert)?.labels?.["severity"] ?? "";
  const own = { alertname: alert, alertstate: "firing", namespace: "NAMESPACE", release: "RELEASE", severity };
  const expected = {
    expr: `ALERTS{alertname="${alert}", alertstate="firing"}`,
    eval_time: at,
    exp_samples: fires.map((labels) => ({ labels: `ALERTS{${text({ ...own, ...more, ...labels })}}`, value: 1 })),
  };
  const input = Object.entries(series).map(([selector, values]) => ({ series: placed(selector, text(more)), values }));
  return { name: `${alert}, ${name}`, interval: "1m", input_series: input, promql_expr_test: [expected] };
}

function groupsOf(alert: string): readonly object[] {
  const { present, absent, flapping } = alertCases[alert] ?? unknownAlert(alert);
  const moments: readonly Moment[] = [
    { name: "present", moment: present },
    { name: "present in a cluster", moment: present, more: { cluster: "berlin" } },
    { name: "absent", moment: absent },
    { name: "flapping", moment: flapping },
  ];
  return moments.map((moment) => groupOf(alert, moment));
}

function unknownAlert(alert: string): never {
  throw new Error(`${alert} has no cases`);
}

describe("the alerts of the chart", () => {
  test("have three cases each, and there are no others", () => {
    expect(Object.keys(alertCases).toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
    for (const { present, absent, flapping } of Object.values(alertCases))
      expect([present, absent, flapping].some(({ fires = [] }) => fires.length > 0)).toBe(true);
  });

  test.each(files)(
    "of $name fire over series that show the fault, and as said over none and over series that come and go",
    async ({ name, path, rules: own }) => {
      const tests = alertsOf(own).flatMap(({ alert }) => groupsOf(alert));
      const file = join(folder.path, name);
      await writeFile(
        file,
        stringify({ rule_files: [path], evaluation_interval: name === "slo.yaml" ? "5m" : "1m", tests }),
      );
      expect(await judged("promtool", ["test", "rules", file])).toBe("good");
    },
  );

  test("select by namespace and release in every selector, so that installations may share a Prometheus", () => {
    const selectors = rules.flatMap(({ expr }) =>
      [...expr.matchAll(/(?:heliograph[\w:]*|leader_election\w*)\{[^}]*\}/gu)].map(([selector]) => selector),
    );
    expect(selectors.length).toBeGreaterThan(60);
    expect(selectors.filter((selector) => !selector.includes('{namespace="NAMESPACE", release="RELEASE"'))).toEqual([]);
    const bare = rules.filter(({ expr }) => /(?:heliograph[\w:]*|leader_election\w*)(?![\w:{])/u.test(expr));
    expect(bare.map(({ expr }) => expr)).toEqual([]);
  });

  test("have a severity, and name in their texts only labels that they have", () => {
    for (const { alert, labels = {}, annotations = {} } of alerts) {
      expect(severities).toContain(labels["severity"]);
      const named = Object.values(annotations).flatMap((one) =>
        [...one.matchAll(/\$labels\.(\w+)/gu)].map(([, label]) => label),
      );
      const fired = Object.values(alertCases[alert] ?? {}).flatMap(({ fires = [] }) => fires.flatMap(Object.keys));
      expect({ alert, missing: named.filter((label) => !fired.includes(label)) }).toEqual({ alert, missing: [] });
    }
  });
});
