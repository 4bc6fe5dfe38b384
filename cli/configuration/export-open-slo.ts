import { stringify } from "yaml";
import { nominalDays } from "../../crds/compile/catalog.ts";
import type { MetricCatalogSlo, MetricCatalogSloCalendar } from "../../crds/types/metric-catalog.ts";
import type { ExitName } from "../command-line/command.ts";
import { say } from "../command-line/terminal.ts";
import { openSloOperators, openSloVersion, restAnnotation, sourceType, tiersOf30Days } from "./open-slo-document.ts";
import { readResources } from "./read-configuration.ts";

/** Writes the objectives to standard output. @throws StartError `folder` */
export async function exportOpenSlo(path: string): Promise<ExitName> {
  const catalogs = (await readResources(path)).flatMap((resource) =>
    resource.kind === "MetricCatalog" ? [resource] : [],
  );
  const slos = catalogs.flatMap(({ spec }) => spec.slos);
  process.stdout.write(openSloText(slos));
  const repeated = slos.filter(({ name }, index) => slos.findIndex((slo) => slo.name === name) < index);
  for (const { name } of repeated) say(`warning: several catalogs have an objective ${name}; rename one of them`);
  if (slos.length === 0) say("No catalog has objectives, so there are no documents.");
  return "done";
}

/** One service for each domain, then one document for each objective. */
export function openSloText(slos: readonly MetricCatalogSlo[]): string {
  const domains = [...new Set(slos.map(({ domain }) => domain))].sort();
  const services = domains.map((name) => documentOf("Service", { name }, {}));
  return [...services, ...slos.map(documentOfSlo)]
    .map((document) => stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join("---\n");
}

function documentOf(kind: string, metadata: object, spec: object): object {
  return { apiVersion: openSloVersion, kind, metadata, spec };
}

function documentOfSlo(slo: MetricCatalogSlo): object {
  const { name, title, domain, metric, objective, counts, threshold, over, burnRates, ...others } = slo;
  const { windowDays, calendar, ...more } = others;
  const rest = restOf(more);
  const metadata = {
    name,
    ...(title === undefined ? {} : { displayName: title }),
    ...(Object.keys(rest).length === 0 ? {} : { annotations: { [restAnnotation]: JSON.stringify(rest) } }),
  };
  const sourceOf = (spec: object): object => ({ metricSource: { type: sourceType, spec } });
  const singledOut = sourceOf(threshold === undefined ? { metric, events: "numerator" } : { metric, upTo: threshold });
  const ratio = { counter: true, [counts.toLowerCase()]: singledOut, total: sourceOf({ metric, events: "all" }) };
  const slices = over && { op: openSloOperators[over.operator], value: over.threshold };
  return documentOf("SLO", metadata, {
    service: domain,
    indicator: {
      metadata: { name },
      spec: over === undefined ? { ratioMetric: ratio } : { thresholdMetric: sourceOf({ metric }) },
    },
    timeWindow: [calendar === undefined ? { duration: `${windowDays}d`, isRolling: true } : calendarWindow(calendar)],
    budgetingMethod: over === undefined ? "Occurrences" : "Timeslices",
    objectives: [
      {
        ...slices,
        target: objective,
        ...(over && { timeSliceTarget: 1, timeSliceWindow: `${over.sliceSeconds}s` }),
      },
    ],
    alertPolicies: burnRates.map((rate, tier) => policyOf(slo, rate, tier)),
  });
}

/** OpenSLO counts periods from a start, of which only the day and the time matter. */
function calendarWindow({ period, timeZone }: MetricCatalogSloCalendar): object {
  const duration = period === "Month" ? "1M" : "1Q";
  return { duration, calendar: { startTime: "2026-01-01 00:00:00", timeZone }, isRolling: false };
}

/** Members that have other values than their defaults. */
function restOf({ minimumEvents, ...others }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const rest = Object.entries(others).filter(([, value]) => value !== undefined && value !== false);
  return Object.fromEntries([...(minimumEvents === 100 ? [] : [["minimumEvents", minimumEvents]]), ...rest]);
}

/** The long window of a tier. OpenSLO has no second window. */
function policyOf({ name, windowDays, calendar }: MetricCatalogSlo, threshold: number, tier: number): object {
  const days = calendar === undefined ? windowDays : nominalDays[calendar.period];
  const [minutes = 0, severity = "ticket"] = tiersOf30Days[tier] ?? [];
  const lookbackWindow = `${(minutes * days) / 30}m`;
  const condition = { kind: "burnrate", op: "gt", threshold, lookbackWindow, alertAfter: "0m" };
  const named = { name: `${name}-burns-${tier + 1}` };
  return {
    kind: "AlertPolicy",
    metadata: named,
    spec: {
      alertWhenBreaching: true,
      conditions: [{ kind: "AlertCondition", metadata: named, spec: { severity, condition } }],
      notificationTargets: [],
    },
  };
}
