import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dashboardTexts } from "./dashboards/files.ts";
import { knownFieldsFiles } from "./known-fields.ts";
import { chartFolder, valuesSchemaText } from "./values-schema.ts";

/** Writes what the chart holds of others: definitions of crds/ with their fields, schema of its values, dashboards. */
if (import.meta.main) {
  const crds = join(dirname(dirname(chartFolder)), "crds");
  for (const name of readdirSync(crds).filter((file) => file.endsWith(".yaml")))
    cpSync(join(crds, name), join(chartFolder, "files", "crds", name));
  mkdirSync(join(chartFolder, "files", "known-fields"), { recursive: true });
  for (const { path, text } of knownFieldsFiles()) writeFileSync(join(chartFolder, path), text);
  writeFileSync(join(chartFolder, "values.schema.json"), valuesSchemaText());
  for (const [name, text] of dashboardTexts()) writeFileSync(join(chartFolder, "files", "dashboards", name), text);
}
