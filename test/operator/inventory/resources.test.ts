import { beforeEach, describe, expect, test } from "vitest";
import { ResourceInventory, type ResourceChange } from "../../../operator/inventory/resources.ts";
import type { ResourceObject } from "../../../operator/resource-types.ts";
import { ScriptedSet } from "./scripted-set.ts";

let partners: ScriptedSet<ResourceObject>;
let inventory: ResourceInventory;
let changes: ResourceChange[];
beforeEach(() => {
  partners = new ScriptedSet();
  inventory = new ResourceInventory({
    WebhookPartner: partners,
    MetricCatalog: new ScriptedSet(),
    QueryClassQuota: new ScriptedSet(),
    EventCatalog: new ScriptedSet(),
  });
  changes = [];
  inventory.onChange((change) => void changes.push(change));
});

const key = "WebhookPartner/shop/acme";
const acme = (
  metadata: Partial<ResourceObject["metadata"]> = {},
  more: Partial<ResourceObject> = {},
): ResourceObject => ({
  kind: "WebhookPartner",
  metadata: {
    name: "acme",
    namespace: "shop",
    uid: "u-1",
    generation: 1,
    creationTimestamp: "2026-01-01T00:00:00Z",
    ...metadata,
  },
  spec: {} as ResourceObject["spec"],
  ...more,
});
const paused = { annotations: { "heliograph.dev/paused": "true" } };

describe("the resource of an object", () => {
  test("is the same object for as long as only its status, labels or other annotations change", () => {
    partners.put(acme());
    const before = inventory.resource(key);
    partners.put(
      acme(
        { labels: { a: "b" }, annotations: { note: "x", "heliograph.dev/paused": "no" } },
        { status: { observedGeneration: 1 } },
      ),
    );
    expect(inventory.resource(key)).toBe(before);
    expect(changes.map(({ isEdit }) => isEdit)).toEqual([true, false]);
    expect(inventory.object("WebhookPartner", "shop/acme")?.status).toEqual({ observedGeneration: 1 });
  });

  test("is another with each generation, pause and successor of its name", () => {
    const said: unknown[] = [];
    for (const metadata of [
      {},
      { generation: 2 },
      { generation: 2, ...paused },
      { generation: 2 },
      { uid: "u-2", generation: 2 },
    ]) {
      partners.put(acme(metadata));
      said.push(inventory.resource(key));
    }
    expect(new Set(said).size).toBe(5);
    expect(changes.filter(({ change }) => change.kind !== "deleted").every(({ isEdit }) => isEdit)).toBe(true);
  });

  test("holds what `compile` needs and nothing of the status", () => {
    partners.put(acme({ ...paused, labels: { a: "b" } }, { status: { observedGeneration: 1 } }));
    expect(inventory.all()).toEqual([
      {
        apiVersion: "heliograph.dev/v1alpha1",
        kind: "WebhookPartner",
        metadata: {
          name: "acme",
          namespace: "shop",
          uid: "u-1",
          generation: 1,
          creationTimestamp: "2026-01-01T00:00:00Z",
          ...paused,
        },
        spec: {},
      },
    ]);
  });

  test("is nothing any more when it is gone, or being deleted", () => {
    partners.put(acme());
    partners.put(acme({ deletionTimestamp: "2026-01-02T00:00:00Z" }));
    expect(inventory.all()).toEqual([]);
    partners.remove("shop/acme");
    expect(changes.map(({ isEdit }) => isEdit)).toEqual([true, true, false]);
    expect(inventory.objects("WebhookPartner")).toEqual([]);
  });
});
