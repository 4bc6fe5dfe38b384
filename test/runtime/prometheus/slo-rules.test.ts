import { describe, expect, test } from "vitest";
import type { SloConfig, SourceConfig } from "../../../crds/config.ts";
import { burnTiers } from "../../../runtime/metrics/slo/slo-status.ts";
import { type AlertRule, burnExpression, sloRules } from "../../../runtime/prometheus/slo-rules.ts";
import { exampleCatalog } from "./example-catalog.ts";

const options = { tenants: ["lumen"], isTenantMatched: true, quotas: [] };

const series = { name: "events_total", matchers: [] };
const ratio: SourceConfig = { kind: "ratio", increase: "Extrapolated", numerator: series, denominator: series };

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
    const source = { slo, metric: { ...metric, id: "count", source: ratio }, matchers: {} };
    const [tier] = burnTiers(slo, metric.minStepSeconds);
    if (tier === undefined) throw new Error("an objective has tiers");
    expect(burnExpression(source, [tier]).split("\n")[1]).toBe(
      '  avg(avg_over_time({__name__="count"}[1h])) / 0.01 > 14.4',
    );
  });
});
