import { describe, expect, test } from "vitest";
import type { LabelName, StoreConfig } from "../../../../crds/config.ts";
import {
  compareLabels,
  governedLabels,
  groupedInStore,
  imposedLabels,
  labelsKey,
  type LabelSource,
} from "../../../../runtime/metrics/planning/plan.ts";
import { storeConfig } from "../oracle/universe.ts";

const base = { name: "s", region: "eu", url: "http://127.0.0.1:9" };
const labelled = storeConfig(base, { labelMap: { environment: "env", psp: "provider" } });
const platform = storeConfig(base, { tenancy: "Platform", environment: "prod" });

const told = storeConfig(base, { tenancy: "StoreHeader" });
const of = (store: StoreConfig): LabelSource => ({
  store: { config: store },
  imposed: imposedLabels(store, "brand-a"),
});
const grouped = (store: StoreConfig, labels: readonly LabelName[]) => groupedInStore(store, of(store).imposed, labels);

describe("the labels of a store's series", () => {
  test("are grouped under the names of the store, except labels that the store sets", () => {
    expect(grouped(labelled, ["environment", "psp", "region", "tenant"])).toEqual(["env", "provider", "tenant"]);
    expect(grouped(platform, ["environment", "psp", "region", "tenant"])).toEqual(["psp"]);
  });

  test("are returned under their governed names, with the region of the store", () => {
    const own = { env: "prod", provider: "acme", region: "somewhere else", tenant: "a", extra: "x" };
    expect(governedLabels(of(labelled), ["environment", "psp", "region"], own)).toEqual({
      environment: "prod",
      psp: "acme",
      region: "eu",
    });
  });

  test("have the environment of the store, and no tenant where series have none", () => {
    const own = { environment: "staging", tenant: "a" };
    expect(governedLabels(of(platform), ["environment", "region", "tenant"], own)).toEqual({
      environment: "prod",
      region: "eu",
    });
  });

  test("have the tenant of the request header, whatever the series has", () => {
    expect(grouped(told, ["tenant", "psp"])).toEqual(["psp"]);
    expect(governedLabels(of(told), ["tenant"], { tenant: "brand-b" })).toEqual({ tenant: "brand-a" });
  });

  test("leave out labels that a series does not have", () => {
    expect(governedLabels(of(labelled), ["psp", "service"], { provider: "" })).toEqual({});
  });
});

describe("the key of labels", () => {
  test("is equal for equal labels only", () => {
    expect(labelsKey({ psp: "a", geo: "b" })).toBe(labelsKey({ geo: "b", psp: "a" }));
    expect(labelsKey({ psp: 'a","b' })).not.toBe(labelsKey({ psp: "a", geo: "b" }));
    expect(labelsKey({ psp: "a" })).not.toBe(labelsKey({ geo: "a" }));
  });
});

test("series are in the order of their labels' names and values", () => {
  const series = [{ psp: "b" }, { service: "a" }, {}, { psp: "a", service: "z" }, { psp: "a" }];
  expect(series.sort(compareLabels)).toEqual([
    {},
    { service: "a" },
    { psp: "a" },
    { psp: "a", service: "z" },
    { psp: "b" },
  ]);
});
