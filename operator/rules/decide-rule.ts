import { isDeepStrictEqual } from "node:util";
import type { CatalogConfig } from "../../crds/config.ts";
import { apiVersion } from "../../crds/resource.ts";
import type { RulesWrittenReason } from "../../crds/reasons.ts";
import type { KubeMeta } from "../../kube/client/resource.ts";
import { copyAnnotation, ownedLabels, type RuleObject } from "./rule-object.ts";

/** Tenants of a catalog's rules, separated by commas; on the MetricCatalog. */
const tenantsAnnotation = "heliograph.dev/rule-tenants";
/** "true" lets the operator take over a PrometheusRule that it does not own. */
const adoptAnnotation = "heliograph.dev/adopt";
/** The day from which the intervals of corrections are silenced, such as 2026-11-27. */
const dayAnnotation = "heliograph.dev/rules-day";
const managedByLabel = "app.kubernetes.io/managed-by";
/** Neither is kept in an owned object. */
const dropped: ReadonlySet<string> = new Set([adoptAnnotation, copyAnnotation]);

export const dayMs = 86_400_000;
const tenantsMax = 100;
/** The Prometheus operator loads no larger object. Source: prometheus-operator, `maxConfigMapDataSize`. */
const specBytesMax = 512 * 1_024;

/** The rules of one catalog. */
export interface GeneratedRules {
  /** As JSON. */
  readonly spec: object;
  readonly alerts: number;
  /** When the first objective has no more silenced intervals, in Unix milliseconds; undefined if none expire. */
  readonly silencedUntilMs: number | undefined;
}

/** The rules of a catalog on one day, or the reason why they need other tenants. */
export type GenerateRules = (
  catalog: CatalogConfig,
  options: { readonly tenants: readonly string[]; readonly dayMs: number },
) => GeneratedRules | { readonly tenantFault: string };

/** Alert rules that the operator writes. */
export interface OwnedRules {
  /** `remove`: deletes what was written. */
  readonly mode: "write" | "remove";
  /** Labels of every PrometheusRule, by which a Prometheus selects it. */
  readonly labels: Readonly<Record<string, string>>;
  /** What follows the name of the catalog in the name of its PrometheusRule. */
  readonly suffix: string;
  readonly generate: GenerateRules;
}

interface RuleInput {
  readonly owner: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Start of the present day, in Unix milliseconds. */
  readonly todayMs: number;
  /** The object as it is; undefined without one. */
  readonly current: RuleObject | undefined;
  /** The rules of a day; undefined when there shall be no object. */
  readonly rulesOn: ((dayMs: number) => ReturnType<GenerateRules>) | undefined;
}

/** What to do with the object. */
export type RuleStep =
  | { readonly kind: "none" }
  | { readonly kind: "delete" }
  /** The object of a deleted catalog of that name: the garbage collector removes it. */
  | { readonly kind: "wait" }
  | { readonly kind: "report"; readonly reason: RulesWrittenReason; readonly detail: string }
  | (RulesOfDay & { readonly kind: "keep" })
  | (RulesOfDay & { readonly kind: "write"; readonly object: RuleObject });

interface RulesOfDay {
  readonly rules: GeneratedRules;
  readonly dayMs: number;
}

/** Decides about the object of one catalog. An object that the catalog does not own is never changed. */
export function decideRule(input: RuleInput): RuleStep {
  const ownership = ownershipOf(input.owner, input.current);
  const today = input.rulesOn?.(input.todayMs);
  if (today !== undefined && "tenantFault" in today)
    return { kind: "report", reason: "TenantRequired", detail: today.tenantFault };
  if (today === undefined || today.alerts === 0) return { kind: ownership === "ours" ? "delete" : "none" };
  if (ownership === "earlier") return { kind: "wait" };
  return ownership === "theirs" ? conflictOf(input) : keptOrWritten(input, today);
}

function keptOrWritten(input: RuleInput, today: GeneratedRules): RuleStep {
  const kept = input.current === undefined ? undefined : keptRules(input, input.current);
  if (kept !== undefined) return { kind: "keep", ...kept };
  const bytes = Buffer.byteLength(JSON.stringify(today.spec));
  if (bytes <= specBytesMax)
    return { kind: "write", object: objectOf(input, today), rules: today, dayMs: input.todayMs };
  return { kind: "report", reason: "TooLarge", detail: `They have ${bytes} bytes: split the catalog.` };
}

function ownershipOf(
  owner: RuleInput["owner"],
  current: RuleObject | undefined,
): "none" | "ours" | "earlier" | "adoptable" | "theirs" {
  if (current === undefined) return "none";
  const references = (current.metadata.ownerReferences ?? []).filter(({ kind }) => kind === "MetricCatalog");
  if (references.some(({ uid }) => uid === owner.uid)) return "ours";
  if (references.length > 0) return "earlier";
  return current.metadata.annotations?.[adoptAnnotation] === "true" ? "adoptable" : "theirs";
}

function conflictOf({ owner: { namespace }, name }: RuleInput): RuleStep {
  const annotate = `kubectl annotate prometheusrule ${name} --namespace ${namespace} ${adoptAnnotation}=true`;
  const detail = `Delete ${namespace}/${name}, or let the operator take it over: ${annotate}`;
  return { kind: "report", reason: "Conflict", detail };
}

/** The rules of the object, if it is as wanted: rules of an earlier day stay until their silenced intervals run out. */
function keptRules(input: RuleInput, current: RuleObject): RulesOfDay | undefined {
  const day = Date.parse(current.metadata.annotations?.[dayAnnotation] ?? "");
  if (!isPastDay(day, input.todayMs) || !hasOwnMetadata(input, current)) return undefined;
  const rules = input.rulesOn?.(day);
  if (rules === undefined || "tenantFault" in rules) return undefined;
  const isSame = isDeepStrictEqual(rules.spec, current.spec) && input.todayMs < refreshAt(day, rules.silencedUntilMs);
  return isSame ? { rules, dayMs: day } : undefined;
}

function isPastDay(day: number, todayMs: number): boolean {
  return day <= todayMs && day % dayMs === 0;
}

function hasOwnMetadata({ owner, labels }: RuleInput, current: RuleObject): boolean {
  const { labels: present = {}, ownerReferences = [] } = current.metadata;
  const isLabelled = isDeepStrictEqual(present, labelsOf(current, labels));
  return isLabelled && ownerReferences.some(({ uid }) => uid === owner.uid);
}

/** The labels that an object shall have: those of others, and ours without those that are no longer wanted. */
function labelsOf(current: RuleObject | undefined, labels: RuleInput["labels"]): Readonly<Record<string, string>> {
  const earlier = ownedLabels(current);
  const others = Object.entries(current?.metadata.labels ?? {}).filter(([name]) => !earlier.has(name));
  return { ...Object.fromEntries(others), ...ownLabels(labels) };
}

function ownLabels(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { ...labels, [managedByLabel]: "heliograph-operator" };
}

/** Replaces the spec, and keeps labels and annotations of others. */
function objectOf({ owner, name, labels, todayMs, current }: RuleInput, { spec }: GeneratedRules): RuleObject {
  const { managedFields: _managed, ...metadata }: RuleObject["metadata"] = current?.metadata ?? {};
  const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => !dropped.has(key));
  const others = (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.uid);
  // Without `blockOwnerDeletion`, which needs a right to the finalizers of catalogs on some clusters.
  const own = { apiVersion, kind: "MetricCatalog", name: owner.name, uid: owner.uid };
  return {
    ...current,
    metadata: {
      ...metadata,
      namespace: owner.namespace,
      name,
      labels: labelsOf(current, labels),
      annotations: { ...Object.fromEntries(kept), [dayAnnotation]: new Date(todayMs).toISOString().slice(0, 10) },
      ownerReferences: [...others, own],
    },
    spec,
  };
}

/**
 * When the rules of a day are generated again: after half of the days that they silence, at least one. 16 schedules
 * that each start once a day fill 40 intervals in two and a half days, of which one is past.
 */
export function refreshAt(day: number, silencedUntilMs: number | undefined): number {
  if (silencedUntilMs === undefined) return Number.POSITIVE_INFINITY;
  return day + Math.max(1, Math.floor((silencedUntilMs - day) / 2 / dayMs)) * dayMs;
}

/** Tenants that a catalog names for its rules, sorted. */
export function tenantsOf({ annotations }: Pick<KubeMeta, "annotations">): readonly string[] {
  const names = (annotations?.[tenantsAnnotation] ?? "").split(",").map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ""))].sort().slice(0, tenantsMax);
}

/** Repairs of an object that another program changed. */
export interface Drift {
  readonly repairs: number;
  /** Time of the last one, monotonic milliseconds. */
  readonly atMs: number;
}

const firstWaitMs = 5_000;
const waitMsMax = 600_000;
/** After this time without a repair, the next one is again the first. */
export const quietMs = 900_000;
/** Repairs after which the object counts as contested. */
const contestedMin = 3;

/** When the next repair may happen, monotonic milliseconds: the first one at once, then after growing waits. */
export function nextRepairAt({ repairs, atMs }: Drift, nowMs: number): number {
  if (repairs === 0 || nowMs - atMs >= quietMs) return nowMs;
  return atMs + Math.min(waitMsMax, firstWaitMs * 2 ** (repairs - 1));
}

/** Returns true while another program keeps changing the object. */
export function isContested({ repairs, atMs }: Drift, nowMs: number): boolean {
  return repairs >= contestedMin && nowMs - atMs < quietMs;
}
