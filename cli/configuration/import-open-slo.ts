import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { stringify } from "yaml";
import { validateResource } from "../../crds/validate.ts";
import { readYaml } from "../../runtime/config/yaml/yaml-documents.ts";
import { startStep } from "../../runtime/program/start-error.ts";
import type { ExitName } from "../command-line/command.ts";
import { say } from "../command-line/terminal.ts";
import {
  at,
  burnRatesOf,
  type Fields,
  fieldsOf,
  isObject,
  type Note,
  type OpenSloDocument,
  openSloOperators,
  openSloVersion,
  Rejected,
  restAnnotation,
  restOf,
  secondsOf,
  sourceType,
  windowOf,
} from "./open-slo-document.ts";

/** Something that an objective cannot express. */
interface Unexpressed {
  readonly line: number;
  readonly field: string;
  readonly reason: string;
}

/** The objectives of a text, as they are written in a catalog. */
interface Imported {
  readonly slos: readonly Slo[];
  readonly unexpressed: readonly Unexpressed[];
}

type Slo = Readonly<Record<string, unknown>>;

/**
 * Writes `slos` of a MetricCatalog to standard output, and what they lack to standard error.
 *
 * @throws StartError `folder` if the file cannot be read
 */
export async function importOpenSlo(file: string): Promise<ExitName> {
  const text = await startStep("folder", `the file ${file} cannot be read`, () => readFile(file, "utf8"));
  const { slos, unexpressed } = importedSlos(file, text);
  process.stdout.write(stringify({ slos }, { lineWidth: 0, aliasDuplicateObjects: false }));
  for (const { line, field, reason } of unexpressed)
    say(`${file}:${line}: ${field === "" ? "" : `${field}: `}${reason}`);
  return unexpressed.length === 0 ? "done" : "problems";
}

/** Converts every SLO of a text. One that cannot be an objective is left out and listed. Never throws. */
export function importedSlos(file: string, text: string): Imported {
  const unexpressed: Unexpressed[] = [];
  const { documents, problems } = readYaml(file, text);
  for (const { line, field, message } of problems) unexpressed.push({ line, field, reason: message });
  const known = documents.map(({ value, lineOf }): OpenSloDocument => {
    const fields = fieldsOf(value);
    return { kind: String(fields["kind"]), name: String(at(fields, "metadata.name")), value: fields, lineOf };
  });
  const slos = known.flatMap((document): readonly Slo[] => {
    const note = (field: string, reason: string): void =>
      void unexpressed.push({ line: document.lineOf(field), field, reason });
    try {
      const first = known.find(({ kind, name }) => kind === "SLO" && name === document.name);
      if (document.kind === "SLO" && first !== document)
        throw new Rejected("metadata.name", "another SLO has the same name");
      return convertDocument(document, known, note);
    } catch (error) {
      if (!(error instanceof Rejected)) throw error;
      note(error.field, error.message);
      return [];
    }
  });
  return { slos, unexpressed: unexpressed.toSorted((one, other) => one.line - other.line) };
}

const otherKinds: Readonly<Record<string, string>> = {
  DataSource: "stores are a part of the catalog",
  AlertNotificationTarget: "receivers of alerts are configured in Alertmanager",
};

function convertDocument(document: OpenSloDocument, all: readonly OpenSloDocument[], note: Note): readonly Slo[] {
  const { kind, value } = document;
  if (value["apiVersion"] !== openSloVersion) throw new Rejected("apiVersion", `it is not ${openSloVersion}`);
  if (kind === "SLO") return [sloOf(document, all, note)];
  const why = otherKinds[kind];
  if (why !== undefined) throw new Rejected("kind", why);
  if (!["Service", "SLI", "AlertPolicy", "AlertCondition"].includes(kind))
    throw new Rejected("kind", "it is not a kind of OpenSLO v1");
  for (const field of ["metadata.displayName", "spec.description"])
    if (kind === "Service" && at(value, field) !== undefined) note(field, "a domain has a name only");
  return [];
}

function sloOf(document: OpenSloDocument, all: readonly OpenSloDocument[], note: Note): Slo {
  const { value } = document;
  noteOthers(value, note);
  const indicator = indicatorOf(value, all);
  const { days, fields: window } = windowOf(onlyObject(value, "spec.timeWindow"));
  const title = at(value, "metadata.displayName");
  const objective = onlyObject(value, "spec.objectives");
  const percent = percentOf(objective["targetPercent"]);
  const { target = percent } = objective;
  if (percent !== undefined && percent !== target)
    throw new Rejected("spec.objectives[0].targetPercent", "it differs from target");
  const expressed: Slo = {
    name: at(value, "metadata.name"),
    ...(title === undefined ? {} : { title }),
    domain: at(value, "spec.service"),
    ...indicator.fields,
    objective: target,
    ...conditionOf(value, objective, indicator),
    ...window,
    ...burnRatesOf(value, days, all, note),
  };
  const rest = restOf(value, note);
  const other = Object.keys(rest).find((name) => name in expressed && !isDeepStrictEqual(rest[name], expressed[name]));
  if (other !== undefined) throw new Rejected("metadata.annotations", `${restAnnotation} has another ${other}`);
  const slo: Slo = { ...expressed, ...rest };
  const [problem] = problemsOf(slo);
  if (problem !== undefined) throw new Rejected("spec", problem);
  return slo;
}

const knownFields: Readonly<Record<string, readonly string[]>> = {
  metadata: ["name", "displayName", "annotations"],
  spec: "service indicator indicatorRef timeWindow budgetingMethod objectives alertPolicies".split(" "),
  "spec.objectives": ["op", "value", "target", "targetPercent", "timeSliceTarget", "timeSliceWindow"],
};

function noteOthers(slo: Fields, note: Note): void {
  for (const [place, names] of Object.entries(knownFields)) {
    const value = at(slo, place);
    const fields = fieldsOf(Array.isArray(value) ? value[0] : value);
    const path = Array.isArray(value) ? `${place}[0]` : place;
    for (const name of Object.keys(fields))
      if (!names.includes(name)) note(`${path}.${name}`, "an objective has no such field");
  }
}

function percentOf(value: unknown): unknown {
  return typeof value === "number" ? Number((value / 100).toPrecision(12)) : value;
}

/** The metric of an indicator, and which of its events are good. */
interface Indicator {
  readonly isThreshold: boolean;
  readonly fields: Fields;
}

/** @throws Rejected */
function indicatorOf(slo: Fields, all: readonly OpenSloDocument[]): Indicator {
  const ref = at(slo, "spec.indicatorRef");
  const found = all.find(({ kind, name }) => kind === "SLI" && name === ref);
  const spec = ref === undefined ? at(slo, "spec.indicator.spec") : found?.value["spec"];
  const place = ref === undefined ? "spec.indicator.spec" : "spec.indicatorRef";
  if (!isObject(spec)) throw new Rejected(place, "the indicator is missing");
  if (!isObject(spec["thresholdMetric"])) return { isThreshold: false, fields: ratioOf(spec, place) };
  return { isThreshold: true, fields: { metric: sourceOf(spec, "thresholdMetric", place)["metric"] } };
}

function ratioOf(spec: Fields, place: string): Fields {
  if (at(spec, "ratioMetric.raw") !== undefined)
    throw new Rejected(`${place}.ratioMetric.raw`, "a ratio requires good or bad events, and all events");
  const isBad = at(spec, "ratioMetric.bad") !== undefined;
  const { metric, upTo } = sourceOf(spec, `ratioMetric.${isBad ? "bad" : "good"}`, place);
  if (metric !== sourceOf(spec, "ratioMetric.total", place)["metric"])
    throw new Rejected(`${place}.ratioMetric`, "both parts must be of one metric of the catalog");
  return { metric, ...(isBad ? { counts: "Bad" } : {}), ...(upTo === undefined ? {} : { threshold: upTo }) };
}

function sourceOf(spec: Fields, part: string, place: string): Fields {
  const field = place === "spec.indicatorRef" ? place : `${place}.${part}.metricSource`;
  const source = at(spec, `${part}.metricSource`);
  if (isObject(source) && source["type"] === sourceType && isObject(source["spec"])) return source["spec"];
  const reason = `add the query as a metric to the catalog, and write type: ${sourceType} with its id in spec.metric`;
  throw new Rejected(field, reason);
}

/** The condition of an objective by time slice. @throws Rejected for another method of budgeting */
function conditionOf(slo: Fields, objective: Fields, { isThreshold }: Indicator): Fields {
  const method = at(slo, "spec.budgetingMethod");
  if (method !== (isThreshold ? "Timeslices" : "Occurrences"))
    throw new Rejected("spec.budgetingMethod", "a ratio requires Occurrences, and a threshold requires Timeslices");
  if (!isThreshold) return {};
  if (objective["timeSliceTarget"] !== 1)
    throw new Rejected("spec.objectives[0].timeSliceTarget", "a slice has one value, so its target is 1");
  const operator = Object.entries(openSloOperators).find(([, op]) => op === objective["op"])?.[0];
  const sliceSeconds = secondsOf(objective["timeSliceWindow"]);
  return { over: { operator, threshold: objective["value"], sliceSeconds } };
}

/** What the API server would reject of an objective, in a catalog that has its metric. */
function problemsOf(slo: Slo): readonly string[] {
  const { metric, threshold, over } = slo;
  const series = { name: "m" };
  const counted =
    threshold === undefined ? { ratio: { numerator: series, denominator: series } } : { histogram: series };
  const source = { intervalSeconds: 1, ...(over === undefined ? counted : { gauge: series }) };
  const entry = { id: metric, category: "slo", unit: "1", description: "m", source };
  const spec = {
    schemaVersion: "1",
    stores: [{ name: "s", region: "r", prometheus: { url: "http://s" } }],
    metrics: [{ ...entry, aggregations: ["avg"], defaultAggregation: "avg" }],
    slos: [slo],
  };
  const metadata = { name: "imported", namespace: "default" };
  const { problems } = validateResource({
    apiVersion: "heliograph.dev/v1alpha1",
    kind: "MetricCatalog",
    metadata,
    spec,
  });
  return problems.map(({ field, message }) => `${field.replace(/^spec\.(slos|metrics)\[0\]\.?/u, "")}: ${message}`);
}

function onlyObject(value: Fields, field: string): Fields {
  const list = at(value, field);
  const [only, ...others] = Array.isArray(list) ? (list as readonly unknown[]) : [];
  if (isObject(only) && others.length === 0) return only;
  throw new Rejected(field, "an objective has exactly one");
}
