import { cpSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { chartFolder, valuesSchemaText } from "./values-schema.ts";

/** Writes what the chart holds of others: the definitions of crds/, and the schema that its values make. */
if (import.meta.main) {
  const crds = join(dirname(dirname(chartFolder)), "crds");
  for (const name of readdirSync(crds).filter((file) => file.endsWith(".yaml")))
    cpSync(join(crds, name), join(chartFolder, "files", "crds", name));
  writeFileSync(join(chartFolder, "values.schema.json"), valuesSchemaText());
}
