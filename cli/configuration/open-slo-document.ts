// What the import and the export of OpenSLO share.
import { nominalDays } from "../../crds/compile/catalog.ts";
import { readYaml } from "../../runtime/config/yaml/yaml-documents.ts";

/** The members of a mapping. */
export type Fields = Readonly<Record<string, unknown>>;

/** A document with the place of its fields. */
export interface OpenSloDocument {
  readonly kind: string;
  readonly name: string;
  readonly value: Fields;
  readonly lineOf: (field: string) => number;
}

/** The version of every document. Source: OpenSLO specification, v1. */
export const openSloVersion = "openslo/v1";
/** Type of a metric source whose `spec` names a metric of a catalog. */
export const sourceType = "Heliograph";
/** Annotation with the fields of an objective that OpenSLO has no place for, as JSON. */
export const restAnnotation = "heliograph.dev/slo";
/** Operators of a threshold. */
export const openSloOperators = { AtMost: "lte", Below: "lt", AtLeast: "gte", Above: "gt" } as const;
/** Long windows of the tiers of a rolling window of 30 days, in minutes, with what they make of an objective. */
export const tiersOf30Days = [
  [60, "page"],
  [360, "page"],
  [1_440, "ticket"],
  [4_320, "ticket"],
] as const;

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** The seconds of a duration such as `5m`; undefined for another text. */
export function secondsOf(duration: unknown): number | undefined {
  const [, count, unit = ""] = /^(\d+(?:[.]\d+)?)([smhdw])$/u.exec(String(duration)) ?? [];
  return count === undefined ? undefined : Number(count) * (unitSeconds[unit] ?? Number.NaN);
}

/** Tests if a value is a mapping. */
export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of a mapping; none of another value. */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

/** The value at a path of names with dots. */
export function at(value: Fields, path: string): unknown {
  return path.split(".").reduce<unknown>((part, name) => (isObject(part) ? part[name] : undefined), value);
}

/** Lists what an objective cannot express. */
export type Note = (field: string, reason: string) => void;

/** Burn rates of conditions on the long windows of the four tiers. Other alerts are listed. */
export function burnRatesOf(slo: Fields, windowDays: number, all: readonly OpenSloDocument[], note: Note): Fields {
  const policies = at(slo, "spec.alertPolicies");
  if (!Array.isArray(policies) || policies.length === 0) return {};
  const named = (kind: string, name: unknown): unknown =>
    all.find((one) => one.kind === kind && one.name === name)?.value;
  const conditions = policies.flatMap((policy: unknown): readonly unknown[] => {
    const own = at(fieldsOf(policy), "alertPolicyRef");
    const list = at(fieldsOf(own === undefined ? policy : named("AlertPolicy", own)), "spec.conditions");
    return Array.isArray(list) ? list : [undefined];
  });
  const rates = conditions.map((condition, tier) => {
    const ref = at(fieldsOf(condition), "conditionRef");
    const full = fieldsOf(ref === undefined ? condition : named("AlertCondition", ref));
    const { kind, op, threshold, lookbackWindow } = fieldsOf(at(full, "spec.condition"));
    const seconds = ((tiersOf30Days[tier]?.[0] ?? Number.NaN) * 60 * windowDays) / 30;
    const isTier = kind === "burnrate" && op === "gt" && secondsOf(lookbackWindow) === seconds;
    return isTier && typeof threshold === "number" ? threshold : undefined;
  });
  if (rates.length === tiersOf30Days.length && !rates.includes(undefined)) return { burnRates: rates };
  const windows = tiersOf30Days.map(([minutes]) => `${(minutes * windowDays) / 30}m`).join(", ");
  note("spec.alertPolicies", `alerts are four burn rates over ${windows}; these are left out`);
  return {};
}

/** A window, as it is written in a catalog. */
interface ImportedWindow {
  /** Days that burn rates are proportional to. */
  readonly days: number;
  readonly fields: Fields;
}

/** The window of an objective by that of OpenSLO. @throws Rejected */
export function windowOf({ duration, isRolling, calendar }: Fields): ImportedWindow {
  if (isRolling !== true && isObject(calendar)) return calendarOf(String(duration), calendar);
  const days = (secondsOf(duration) ?? Number.NaN) / 86_400;
  if (isRolling === true && calendar === undefined && Number.isInteger(days))
    return { days, fields: { windowDays: days } };
  const reason = "the window of an objective is rolling and a whole number of days or weeks, or it has a calendar";
  throw new Rejected("spec.timeWindow", reason);
}

const periodsOfDurations: Readonly<Record<string, "Month" | "Quarter">> = {
  "1M": "Month",
  "1Q": "Quarter",
  "3M": "Quarter",
};
/** Midnight of the first day of a month, without a zone. */
const firstDay = /^\d{4}-(\d{2})-01(?:[ T]00:00(?::00(?:[.]0+)?)?)?$/u;

/** @throws Rejected */
function calendarOf(duration: string, { startTime, timeZone }: Fields): ImportedWindow {
  const period = periodsOfDurations[duration];
  if (period === undefined)
    throw new Rejected("spec.timeWindow", "a calendar window is one month (1M) or quarter (1Q)");
  const [, month] = firstDay.exec(String(startTime)) ?? [];
  const isStart = month !== undefined && (period === "Month" || Number(month) % 3 === 1);
  if (!isStart) {
    const reason = "startTime must be midnight of the first day of a period, as 2026-01-01 00:00:00 without a zone";
    throw new Rejected("spec.timeWindow", reason);
  }
  return { days: nominalDays[period], fields: { calendar: { period, timeZone } } };
}

/** Thrown for a field without which there is no objective. */
export class Rejected extends Error {
  override readonly name = "Rejected";
  readonly field: string;

  constructor(field: string, reason: string) {
    super(reason);
    this.field = field;
  }
}

/** The fields of the annotation {@link restAnnotation}. @throws Rejected */
export function restOf(slo: Fields, note: Note): Fields {
  const annotations = fieldsOf(at(slo, "metadata.annotations"));
  const { [restAnnotation]: rest, ...others } = annotations;
  if (Object.keys(others).length > 0) note("metadata.annotations", "an objective has no such field");
  if (rest === undefined) return {};
  const text = typeof rest === "string" ? rest : "";
  const fields = parsedJson(text);
  if (!isObject(fields)) throw new Rejected("metadata.annotations", `${restAnnotation} is not an object in JSON`);
  // JSON.parse keeps the last of repeated members, and has no bound of depth.
  const [problem] = readYaml(restAnnotation, text).problems;
  if (problem !== undefined) throw new Rejected("metadata.annotations", `${restAnnotation}: ${problem.message}`);
  return fields;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
