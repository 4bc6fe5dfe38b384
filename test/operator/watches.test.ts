import { describe, expect, test } from "vitest";
import type { Resource } from "../../crds/resource.ts";
import type { ResourceObject } from "../../operator/resource-types.ts";
import { withoutCopies } from "../../operator/watches.ts";

const object = (
  generation: number,
  annotations: Readonly<Record<string, string>> = {},
  uid = "u-1",
): ResourceObject => ({
  kind: "QueryClassQuota",
  metadata: { name: "desk", namespace: "shop", uid, generation, annotations },
  spec: { class: "A" } as Resource["spec"],
});

describe("what is kept of an object", () => {
  test("is not kubectl's copy of it, and is every other annotation", () => {
    const kept = withoutCopies(object(1, { "kubectl.kubernetes.io/last-applied-configuration": "{}", other: "yes" }));
    expect(kept).toEqual(object(1, { other: "yes" }));
  });

  test("is the very spec that was known, for as long as it is of the same generation of the same object", () => {
    const known = withoutCopies(object(1));
    expect(withoutCopies(object(1), known).spec).toBe(known.spec);
    for (const other of [object(2), object(1, {}, "u-2")]) expect(withoutCopies(other, known).spec).toBe(other.spec);
  });
});
