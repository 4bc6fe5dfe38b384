import { expect, test } from "vitest";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { createConfiguredNames } from "../../../runtime/program/serve-apis.ts";

const config = {
  partners: [
    { namespace: "shop", name: "a", subscriptions: [{ tenants: ["vega", "*"] }, { tenants: ["lumen", "-", "vega"] }] },
    { namespace: "shop", name: "b", subscriptions: [{ tenants: [] }] },
  ],
  catalogs: [
    {
      stores: [{ region: "latam", environment: "prod" }, { region: "eu" }, { region: "eu" }],
      slos: [{ publicTenants: ["lumen"] }, {}],
    },
    { stores: [] },
  ],
  quotas: [{ clients: [{ tenants: ["orion", "*"] }, {}] }],
} as unknown as RuntimeConfig;

test("names of a configuration are sorted, each once, without the patterns", () => {
  const names = createConfiguredNames(() => config)();
  expect(names).toMatchObject({ regions: ["eu", "latam"], environments: ["prod"], metricTenants: ["lumen", "orion"] });
  expect(names?.partnerTenants).toEqual(
    new Map([
      ["shop/a", ["lumen", "vega"]],
      ["shop/b", []],
    ]),
  );
});

test("names are computed once for each configuration, and are unknown before the first", () => {
  let current: RuntimeConfig | undefined;
  const names = createConfiguredNames(() => current);
  expect(names()).toBeUndefined();
  current = config;
  const first = names();
  expect(names()).toBe(first);
  current = { ...config, catalogs: [] };
  expect(names()?.regions).toEqual([]);
});
