import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { classDefaults } from "../../../crds/compile/class-defaults.ts";
import { queryClasses, type ClassLimits } from "../../../crds/config.ts";
import { specSchemas } from "../../tools/resource-types.ts";

const page = readFileSync(fileURLToPath(new URL("../../../docs/resources.md", import.meta.url)), "utf8");

test("docs/resources.md holds the limits of every class", () => {
  const row = /^\| `limits\.(?<name>\w+)` \| (?<A>\d+)[^|]*\| (?<B>\d+)[^|]*\| (?<C>\d+)[^|]*\| (?<bound>\d+) \|$/gmu;
  const written = [...page.matchAll(row)].map(({ groups }) => ({ ...groups }));
  const limits = specSchemas.QueryClassQuota.properties?.["limits"]?.properties ?? {};
  const table = Object.entries(limits).map(([name, { minimum, maximum }]) => {
    const values = queryClasses.map((queryClass) => [
      queryClass,
      String(classDefaults[queryClass][name as keyof ClassLimits]),
    ]);
    return { name, ...Object.fromEntries(values), bound: String(name.startsWith("min") ? minimum : maximum) };
  });
  expect(written).toEqual(table);
});

test("every class keeps the seed's limits: 50 series and steps of 10 s (Operational Metrics API §8)", () => {
  for (const limits of Object.values(classDefaults))
    expect(limits).toMatchObject({ maxSeries: 50, minStepSeconds: 10 });
});
