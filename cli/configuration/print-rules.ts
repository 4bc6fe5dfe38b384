import { stringify } from "yaml";
import { UsageError } from "../command-line/flags.ts";
import { compileCatalog } from "../../crds/compile/catalog.ts";
import { compileQuota } from "../../crds/compile/quota.ts";
import type { CatalogConfig } from "../../crds/config.ts";
import type { Resource } from "../../crds/resource.ts";
import { prometheusRule, ruleDay } from "../../runtime/prometheus/prometheus-rule.ts";
import {
  type CatalogRules,
  needsTenant,
  ruleLabels,
  type RuleGroup,
  type RuleOptions,
  sloRules,
  TenantError,
} from "../../runtime/prometheus/slo-rules.ts";
import { say } from "../command-line/terminal.ts";
import type { ExitName } from "../command-line/command.ts";
import { readResources } from "./read-configuration.ts";

/** `prometheusrule`: the resource of the Prometheus operator. */
export type RulesForm = "prometheus" | "vmalert" | "prometheusrule";

export interface RulesArguments {
  /** A folder, a file, or `-` for the standard input. */
  readonly place: string;
  readonly output: RulesForm;
  readonly tenants: readonly string[];
  /** Labels of every rule, as `NAME=VALUE`. */
  readonly labels: readonly string[];
}

/** Most tenants of one command line. */
const tenantsMax = 100;

/**
 * Writes the rules to standard output, and what they lack to standard error. Equal resources give equal bytes.
 * @throws StartError `folder`; UsageError without a tenant that the catalogs need, or for one that no request may name
 */
export async function printRules({ place, output, tenants, labels }: RulesArguments): Promise<ExitName> {
  if (tenants.length > tenantsMax)
    throw new UsageError(`--tenant is given ${tenants.length} times; the limit is ${tenantsMax}.`);
  const resources = await readResources(place);
  const rules = rulesOf(resources, { output, labels, tenants: [...new Set(tenants)].sort() });
  process.stdout.write(rulesText(rules, output));
  for (const note of rules.flatMap(({ notes }) => notes)) say(`warning: ${note}`);
  if (rules.every(({ groups }) => groups.length === 0)) say("No catalog has objectives, so there are no rules.");
  return "done";
}

function rulesOf(
  resources: readonly Resource[],
  { output, labels: texts, tenants }: Omit<RulesArguments, "place">,
): readonly CatalogRules[] {
  const labels = labelsOf(texts);
  const catalogs = resources
    .flatMap((resource) => (resource.kind === "MetricCatalog" ? [compileCatalog(resource, [])] : []))
    .sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
  const quotas = resources.flatMap((resource) => (resource.kind === "QueryClassQuota" ? [compileQuota(resource)] : []));
  if (tenants.length === 0) requireNoTenant(catalogs);
  const options = { tenants, labels, nowMs: ruleDay(Date.now()), isTenantMatched: output !== "vmalert", quotas };
  return catalogs.map((catalog) => rulesOfCatalog(catalog, options));
}

/** A name of a label that is not reserved by Prometheus. */
const labelPattern = /^(?<name>(?!__)[A-Za-z_][A-Za-z0-9_]*)=(?<value>.+)$/su;
const labelsMax = 32;

function labelsOf(texts: readonly string[]): Readonly<Record<string, string>> {
  if (texts.length > labelsMax)
    throw new UsageError(`--label is given ${texts.length} times; the limit is ${labelsMax}.`);
  const labels = new Map<string, string>();
  for (const text of texts) {
    const { name, value } = labelPattern.exec(text)?.groups ?? {};
    if (name === undefined || value === undefined)
      throw new UsageError(`--label must be NAME=VALUE with the name of a label, not ${text}.`);
    if (ruleLabels.includes(name)) throw new UsageError(`--label cannot set ${name}, which the rules themselves set.`);
    if (labels.has(name)) throw new UsageError(`--label sets ${name} twice.`);
    labels.set(name, value);
  }
  return Object.fromEntries([...labels].sort(([one], [other]) => (one < other ? -1 : 1)));
}

function rulesOfCatalog(catalog: CatalogConfig, options: RuleOptions): CatalogRules {
  try {
    return sloRules(catalog, options);
  } catch (error) {
    if (error instanceof TenantError) throw new UsageError(`--tenant: ${error.message}.`, { cause: error });
    throw error;
  }
}

function requireNoTenant(catalogs: readonly CatalogConfig[]): void {
  const several = catalogs.find(needsTenant);
  if (several === undefined) return;
  const why = several.stores.some(({ tenancy }) => tenancy === "StoreHeader")
    ? "a store that separates tenants by a header"
    : "series of several tenants";
  throw new UsageError(`The catalog ${placeOf(several)} has ${why}; pass --tenant for each tenant that needs rules.`);
}

function placeOf({ namespace, name }: Pick<CatalogConfig, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

function rulesText(rules: readonly CatalogRules[], form: RulesForm): string {
  if (form !== "prometheusrule")
    return yamlOf({ groups: rules.flatMap(({ groups }) => groups.map((group) => groupOf(group, form))) });
  return rules.map((one) => yamlOf(prometheusRule(one))).join("---\n");
}

function groupOf({ name, tenant, rules }: RuleGroup, form: RulesForm): object {
  const headers = form === "vmalert" && tenant !== undefined ? { headers: [`X-Scope-OrgID: ${tenant}`] } : {};
  return { name, ...headers, rules };
}

function yamlOf(value: object): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}
