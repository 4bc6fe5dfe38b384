import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { collectionPath, isLater, keyOf, objectPath, refOf, type ResourceType } from "../../../kube/client/resource.ts";

const secrets: ResourceType = { group: "", version: "v1", kind: "Secret", plural: "secrets" };
const partners: ResourceType = {
  group: "heliograph.dev",
  version: "v1alpha1",
  kind: "WebhookPartner",
  plural: "webhookpartners",
};

describe("the path", () => {
  test("of a collection names its group, its version and, if any, its namespace", () => {
    expect(collectionPath(secrets)).toBe("/api/v1/secrets");
    expect(collectionPath(partners, "a")).toBe("/apis/heliograph.dev/v1alpha1/namespaces/a/webhookpartners");
  });

  test("of an object may go on to a subresource", () => {
    expect(objectPath(secrets, { namespace: "a", name: "one" })).toBe("/api/v1/namespaces/a/secrets/one");
    expect(objectPath(partners, { namespace: "a", name: "one" }, "status")).toMatch(/\/webhookpartners\/one\/status$/u);
    expect(objectPath({ ...secrets, plural: "nodes" }, { name: "n" })).toBe("/api/v1/nodes/n");
  });

  test("never leaves the object it is made for, whatever the name", () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }).filter((name) => name !== "." && name !== ".."),
        (name) => {
          const url = new URL(objectPath(secrets, { namespace: "a", name }), "http://server");
          expect(url.pathname.split("/").slice(0, -1).join("/")).toBe("/api/v1/namespaces/a/secrets");
          expect(url.search + url.hash).toBe("");
        },
      ),
    );
  });
});

test("a key leads back to the place it was made from", () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/u);
  fc.assert(
    fc.property(name, fc.option(name, { nil: undefined }), (own, namespace) => {
      const ref = namespace === undefined ? { name: own } : { namespace, name: own };
      expect(refOf(keyOf(ref))).toEqual(ref);
      expect(keyOf({ metadata: ref })).toBe(keyOf(ref));
    }),
  );
});

describe("a resource version", () => {
  test("is later than another as numbers are, however long", () => {
    const numbers = fc.bigInt({ min: 0n, max: 2n ** 80n });
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        expect(isLater(a.toString(), b.toString())).toBe(a > b);
      }),
    );
  });

  test.each(["", "x", "01", "-1", "1.5", " 1"])("of %j can be compared with nothing", (version) => {
    expect([isLater(version, "1"), isLater("1", version)]).toEqual([undefined, undefined]);
  });
});
