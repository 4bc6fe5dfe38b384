import { describe, expect, test } from "vitest";
import { validateResource } from "../../crds/validate.ts";
import { acceptedRows } from "./accepted-rows.ts";
import type { Row } from "./rows.ts";
import { ruleRows } from "./rule-rows.ts";
import { schemaRows, unknownFieldRows } from "./schema-rows.ts";
import { plainObject, type Changes } from "./valid-objects.ts";

function validate({ kind, set, replaces }: Row) {
  const old = replaces === undefined ? undefined : validateResource(plainObject(kind, replaces)).resource;
  return validateResource(plainObject(kind, set), old);
}

describe("validateResource", () => {
  for (const row of acceptedRows) {
    test(`accepts a ${row.kind} that ${row.says}`, () => {
      expect(validate(row).problems).toEqual([]);
    });
  }

  for (const row of ruleRows) {
    test(`refuses a ${row.kind} that ${row.says}`, () => {
      expect(validate(row).problems).toEqual([{ field: row.field, reason: "Invalid", message: row.message }]);
    });
  }

  for (const row of [...schemaRows, ...unknownFieldRows]) {
    test(`refuses a ${row.kind} that ${row.says}`, () => {
      expect(validate(row).problems).toEqual([{ field: row.field, reason: row.reason, message: row.message }]);
    });
  }

  test("fills every default, the seed's retry schedule among them (Webhook Event Delivery §8)", () => {
    expect(validateResource(plainObject("WebhookPartner")).resource?.spec).toEqual({
      endpoint: {
        url: "https://partner.example/webhooks/v1/payments",
        timeoutSeconds: 10,
        headers: [],
        idempotencySeconds: 259_200,
        verification: "None",
      },
      signing: {
        scheme: "HmacV1",
        sideBySide: false,
        keys: [{ id: "current", secretRef: { name: "partner", key: "hmac" } }],
      },
      subscriptions: [{ name: "payouts", types: ["payout.*"], tenants: ["lumen"], producers: [] }],
      delivery: { maxInFlight: 64, maxBacklog: { messages: 200_000, bytes: 268_435_456 } },
      retry: {
        scheduleSeconds: [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 10_800, 21_600, 43_200, 86_400],
        maxAgeSeconds: 604_800,
        jitterPercent: 10,
      },
      circuitBreaker: { enabled: true, failures: 20, openSeconds: 30, maxOpenSeconds: 600 },
      deadLetter: {},
      networks: { allowCidrs: [], allowPlaintext: false },
      state: "Active",
    });
  });

  test("leaves the value that it is given as it is", () => {
    const value = plainObject("QueryClassQuota", { limits: null });
    const before = structuredClone(value);
    validateResource(value);
    expect(value).toEqual(before);
  });

  test("drops the status and takes the namespace `default` when an object names none", () => {
    const { metadata, ...value } = plainObject("QueryClassQuota");
    const object = { ...value, metadata: { name: metadata.name }, status: { conditions: [] } };
    const { resource } = validateResource(object);
    expect(resource?.metadata).toEqual({ name: "example", namespace: "default" });
    expect(resource).not.toHaveProperty("status");
  });

  test("refuses a kind of somebody else", () => {
    expect(validateResource({ apiVersion: "v1", kind: "Pod" }).problems).toEqual([
      {
        field: "kind",
        reason: "NotSupported",
        message:
          "kind Pod is not one of EventCatalog, MetricCatalog, QueryClassQuota, WebhookPartner of " +
          "heliograph.dev/v1alpha1",
      },
    ]);
  });

  test("refuses another version of a kind", () => {
    const object = { ...plainObject("QueryClassQuota"), apiVersion: "heliograph.dev/v1" };
    expect(validateResource(object).problems.map(({ field }) => field)).toEqual(["apiVersion"]);
  });

  test.each([undefined, null, 7, "text", []])("refuses %j, which is no object", (value) => {
    expect(validateResource(value).problems.map(({ field }) => field)).toEqual(["kind"]);
  });

  test("reports every field that the schema refuses, in one answer", () => {
    const object = plainObject("WebhookPartner", { "endpoint.url": 7, "delivery.maxInFlight": 0, state: "Stopped" });
    expect(validateResource(object).problems.map(({ field }) => field)).toEqual([
      "spec.endpoint.url",
      "spec.delivery.maxInFlight",
      "spec.state",
    ]);
  });
});

test("a rule is judged beside a field that the schema rejects, and not around it", () => {
  const fields = (changes: Changes) =>
    validateResource(plainObject("WebhookPartner", changes)).problems.map(({ field }) => field);
  const url = { "endpoint.url": "ftp://partner.example/" };
  expect(fields({ ...url, "endpoint.timeoutSeconds": -1 })).toEqual([
    "spec.endpoint.timeoutSeconds",
    "spec.endpoint.url",
  ]);
  // The rule that compares the scheme with the URL is around both.
  expect(fields({ "endpoint.url": 7 })).toEqual(["spec.endpoint.url"]);
});
