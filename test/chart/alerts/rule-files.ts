import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { chartFolder } from "../values-schema.ts";

/** A rule of the chart: an alert, or a record. */
export interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A file of rules. */
interface RuleFile {
  readonly name: string;
  readonly path: string;
  readonly rules: readonly Rule[];
}

/** Every file of rules of the chart. */
export function ruleFiles(): readonly RuleFile[] {
  const folder = join(chartFolder, "files", "rules");
  return readdirSync(folder).map((name) => {
    const { groups } = parse(readFileSync(join(folder, name), "utf8")) as {
      readonly groups: readonly { readonly rules: readonly Rule[] }[];
    };
    return { name, path: join(folder, name), rules: groups.flatMap(({ rules }) => rules) };
  });
}

/** The alerts among rules. */
export function alertsOf(rules: readonly Rule[]): readonly (Rule & { readonly alert: string })[] {
  return rules.flatMap((rule) => (rule.alert === undefined ? [] : [{ ...rule, alert: rule.alert }]));
}
