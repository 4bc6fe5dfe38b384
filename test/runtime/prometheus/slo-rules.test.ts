import { describe, expect, test } from "vitest";
import type { CatalogConfig, SloConfig, SourceConfig } from "../../../crds/config.ts";
import { burnTiers } from "../../../runtime/metrics/slo/slo-status.ts";
import { type AlertRule, burnExpression, sloRules } from "../../../runtime/prometheus/slo-rules.ts";
import { charactersMax, parseExpression, typeOf } from "../../../runtime/prometheus/language/parse-expression.ts";
import { exampleCatalog } from "./example-catalog.ts";

const nowMs = Date.parse("2026-11-27T00:00:00Z");
const options = { tenants: ["lumen"], isTenantMatched: true, quotas: [], nowMs };

const series = { name: "events_total", matchers: [] };
const ratio: SourceConfig = { kind: "ratio", increase: "Extrapolated", numerator: series, denominator: series };

function withCorrections(corrections: NonNullable<SloConfig["corrections"]>): CatalogConfig {
  return { ...exampleCatalog, slos: exampleCatalog.slos.map((slo) => ({ ...slo, corrections })) };
}

function rulesOf(slo: string, tenant = "lumen"): readonly AlertRule[] {
  const { groups } = sloRules(exampleCatalog, { ...options, tenants: [tenant] });
  return groups.filter(({ name }) => name.includes(`/${slo}/`)).flatMap(({ rules }) => rules);
}

describe("the alert of an objective", () => {
  test("over a ratio of good events reads the share that is missing from 1", () => {
    expect(rulesOf("login")[0]?.expr).toBe(
      [
        "(",
        '  (1 - avg(avg_over_time(auth_success_rate{tenant="lumen"}[1h]))) / 0.03 > 14.4',
        '  and (1 - avg(avg_over_time(auth_success_rate{tenant="lumen"}[5m]))) / 0.03 > 14.4',
        '  and sum(increase(auth_success_rate:total{tenant="lumen"}[1h])) >= 100',
        ")",
        "or",
        "(",
        '  (1 - avg(avg_over_time(auth_success_rate{tenant="lumen"}[6h]))) / 0.03 > 6',
        '  and (1 - avg(avg_over_time(auth_success_rate{tenant="lumen"}[30m]))) / 0.03 > 6',
        '  and sum(increase(auth_success_rate:total{tenant="lumen"}[6h])) >= 100',
        ")",
      ].join("\n"),
    );
  });

  test("over a ratio of bad events reads the ratio itself", () => {
    expect(rulesOf("api-availability")[0]?.expr.split("\n")[1]).toBe(
      '  avg(avg_over_time(api_5xx_rate{tenant="lumen"}[1h])) / 0.01 > 14.4',
    );
  });

  test("over a histogram reads the share up to the threshold, for each region that may not be read with others", () => {
    const rules = rulesOf("withdrawal");
    expect(rules.map(({ labels }) => `${labels["region"]} ${labels["severity"]}`)).toEqual([
      "eu page",
      "eu ticket",
      "latam page",
      "latam ticket",
    ]);
    expect(rules[0]?.expr.split("\n").slice(1, 4)).toEqual(
      ["1h", "5m"]
        .map(
          (window, at) =>
            `  ${["", "and "][at]}(1 - histogram_fraction(0, 14400000, sum by (le) (rate(withdraw_tat_p95_ms{tenant="lumen", region="eu"}[${window}])))) / 0.06 > 14.4`,
        )
        .concat('  and histogram_count(sum(increase(withdraw_tat_p95_ms{tenant="lumen", region="eu"}[1h]))) >= 100'),
    );
  });

  test("has labels and texts that say which budget burns", () => {
    expect(rulesOf("login")[1]).toMatchObject({
      alert: "SloBurnsSlow",
      labels: { severity: "ticket", slo: "login", domain: "identity", tenant: "lumen" },
      annotations: {
        summary: "The objective login of identity burns its error budget slowly",
        description:
          "The burn rate of auth_success_rate is {{ $value | humanize }}. The limits are 3 over 1d and 2h or 1 over 3d " +
          "and 6h; the objective is 97 % of events over 30 days.",
      },
    });
  });

  test("takes a tenant literally, in the expression and in the template of a label", () => {
    const [rule] = rulesOf("login", 'a"{{ $value }}\\');
    expect(rule?.expr).toContain('{tenant="a\\"{{ $value }}\\\\"}');
    expect(rule?.labels["tenant"]).toBe('a"{{ "{{" }} $value }}\\');
  });

  test("names a metric whose id is a word of the language in braces", () => {
    const [metric] = exampleCatalog.metrics;
    if (metric === undefined) throw new Error("the examples have no metric");
    const slo = { ...exampleCatalog.slos[0], metric: "count", counts: "Bad" } as SloConfig;
    const source = { slo, metric: { ...metric, id: "count", source: ratio }, matchers: {}, nowMs };
    const [tier] = burnTiers(slo, metric.minStepSeconds);
    if (tier === undefined) throw new Error("an objective has tiers");
    expect(burnExpression(source, [tier]).split("\n")[1]).toBe(
      '  avg(avg_over_time({__name__="count"}[1h])) / 0.01 > 14.4',
    );
  });

  test("names the owner of the metric in a label, and how to reach it in annotations", () => {
    const owned = { owner: "payments", contact: "#pay {{", runbookUrl: "https://runbooks.example/pay" };
    const catalog = { ...exampleCatalog, metrics: exampleCatalog.metrics.map((metric) => ({ ...metric, ...owned })) };
    const first = (labels: Readonly<Record<string, string>>) =>
      sloRules(catalog, { ...options, labels }).groups[0]?.rules[0];
    expect(first({})?.labels["owner"]).toBe("payments");
    expect(first({ owner: "oncall" })?.labels["owner"]).toBe("oncall");
    expect(first({})?.annotations).toMatchObject({
      runbook_url: "https://runbooks.example/pay",
      contact: '#pay {{ "{{" }}',
    });
  });

  test("has rolling windows for a calendar one, and says so", () => {
    const calendar = { period: "Quarter", timeZone: "Europe/Berlin" } as const;
    const catalog = {
      ...exampleCatalog,
      slos: exampleCatalog.slos.map((slo) => (slo.name === "login" ? { ...slo, windowDays: 90, calendar } : slo)),
    };
    const { groups, notes } = sloRules(catalog, options);
    const [rule] = groups.find(({ name }) => name.includes("/login/"))?.rules ?? [];
    expect(rule?.expr).toContain("[3h]");
    expect(rule?.annotations["description"]).toMatch(
      /97 % of events in each calendar quarter \(Europe\/Berlin\), and these windows are rolling\.$/u,
    );
    expect(notes).toContain(
      "the alerts of the objective login have the rolling windows of 90 days, because PromQL has no calendar windows; " +
        "its budget is in /v1/metrics/slo",
    );
  });

  test("is silent during corrections, until the short window has left them", () => {
    const corrected = withCorrections([
      { reason: "past", from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" },
      { reason: "move", from: "2026-11-27T10:00:00Z", to: "2026-11-27T11:00:00Z" },
    ]);
    const { groups, notes } = sloRules(corrected, options);
    const [rule] = groups.find(({ name }) => name.includes("/login/"))?.rules ?? [];
    const { expr = "", annotations = {} } = rule ?? {};
    const counted = "The events of corrections count in its windows, unlike on the status page and in /v1/metrics/slo.";
    expect(annotations["description"]).toContain(`over 30 days. ${counted}`);
    const [fromSeconds, toSeconds] = [Date.parse("2026-11-27T10:00:00Z"), Date.parse("2026-11-27T11:00:00Z")].map(
      (ms) => ms / 1_000,
    );
    expect(expr.split("\n")[2]).toBe(
      '  and (1 - avg(avg_over_time(auth_success_rate{tenant="lumen"}[5m]))) / 0.03 > 14.4 + ' +
        `1e12 * ((time() >= bool ${fromSeconds}) * (time() < bool ${(toSeconds ?? 0) + 300}))`,
    );
    expect(expr).toContain(`(time() < bool ${(toSeconds ?? 0) + 1_800})`);
    expect(notes.filter((note) => note.includes("silent"))).toEqual([]);
    expect(sloRules(corrected, options).silencedUntilMs).toBeUndefined();
  });

  test("expands a schedule for 35 days, and says so", () => {
    const weekly = { cron: "0 2 * * SUN", durationMinutes: 60, timeZone: "Europe/Berlin" };
    const corrected = withCorrections([{ reason: "weekly", schedule: weekly }]);
    const { groups, notes, silencedUntilMs } = sloRules(corrected, options);
    const expr = groups.find(({ name }) => name.includes("/login/"))?.rules[1]?.expr ?? "";
    expect(expr.match(/time\(\) >= bool/gu)).toHaveLength(2 * 5);
    expect(silencedUntilMs).toBe(Date.parse("2027-01-01T00:00:00Z"));
    expect(notes).toContain(
      "the alerts of the objective login are silent during its corrections until 2027-01-01T00:00Z; print them again before",
    );
  });

  test("compiles with as many intervals as are printed, and says where they end", () => {
    const daily = ["0 1", "0 5"].map((time) => ({
      reason: "backup",
      schedule: { cron: `${time} * * *`, durationMinutes: 60, timeZone: "America/New_York" },
    }));
    const { groups, notes, silencedUntilMs } = sloRules(withCorrections(daily), options);
    expect(silencedUntilMs).toBe(Date.parse("2026-12-16T06:00:00Z"));
    const exprs = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
    expect(exprs.every((expr) => expr.length <= charactersMax && typeOf(parseExpression(expr)) === "vector")).toBe(
      true,
    );
    expect(notes).toContain(
      "the alerts of the objective login are silent during its corrections until 2026-12-16T06:00Z; print them again before",
    );
  });
});
