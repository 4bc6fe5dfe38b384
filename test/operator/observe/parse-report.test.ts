import { describe, expect, test } from "vitest";
import type { ConfigzReport } from "../../../crds/configz.ts";
import { markKey } from "../../../operator/observe/rollout.ts";
import { parseReport } from "../../../operator/observe/pod-poller.ts";

const error = {
  kind: "WebhookPartner",
  namespace: "shop",
  name: "acme",
  generation: 4,
  reason: "Broken",
  message: "no",
} as const;
const mark = {
  kind: "WebhookPartner",
  namespace: "shop",
  name: "acme",
  uid: "u-1",
  generation: 4,
  reason: "PartnerDisabled",
  message: "410",
  since: "2026-01-01T00:00:00Z",
} as const;
const report: ConfigzReport = {
  version: "17",
  pod: "rt-1",
  ready: true,
  hash: "0a",
  shards: { "config-00": { revision: 3, sha256: "aa" }, "keys-00": { revision: 1, sha256: "bb", error: "torn" } },
  errors: [error],
  marks: [mark],
};

describe("a report", () => {
  test("is read with its errors by resource and its marks by partner", () => {
    expect(parseReport(JSON.parse(JSON.stringify(report)))).toEqual({
      version: "17",
      report: {
        shards: report.shards,
        errors: new Map([["WebhookPartner/shop/acme", error]]),
        marks: new Map([["u-1", mark]]),
        observed: new Map(),
      },
    });
  });

  test("holds the endpoint validation beside the mark of the partner", () => {
    const consent = { ...mark, reason: "ConsentRefused", message: "status 404" } as const;
    const { marks } = parseReport({ ...report, marks: [mark, consent] }).report;
    expect([...marks.values()]).toEqual([mark, consent]);
    expect([marks.get("u-1"), marks.get(markKey(consent))]).toEqual([mark, consent]);
  });

  test("holds the catalogs that the pod compared, without reasons and states of later versions", () => {
    const check = { metric: "lag", status: "False", check: "series", message: "eu: no series" } as const;
    const observed = {
      kind: "MetricCatalog",
      namespace: "shop",
      name: "ops",
      uid: "u-2",
      generation: 3,
      status: "False",
      reason: "Mismatch",
      message: "lag",
      metrics: [check],
    } as const;
    const odd = { ...observed, uid: "u-3", reason: "Sideways" };
    const later = { ...observed, metrics: [check, { ...check, metric: "cpu", status: "Maybe" }] };
    const found = parseReport(JSON.parse(JSON.stringify({ ...report, observed: [later, odd] }))).report.observed;
    expect([...(found ?? [])]).toEqual([["u-2", observed]]);
    expect(() => parseReport({ ...report, observed: [{ ...observed, uid: 7 }] })).toThrow("uid");
  });

  test("of a later version may say more, of other kinds too", () => {
    const later = {
      ...report,
      more: 1,
      errors: [{ ...error, kind: "Route" }],
      marks: [{ ...mark, reason: "PartnerSlow" }],
    };
    expect(parseReport(later).report).toMatchObject({ errors: new Map(), marks: new Map() });
  });

  test.each([
    ["nothing", undefined],
    ["a list", []],
    ["no version", { ...report, version: 17 }],
    ["no shards", { ...report, shards: undefined }],
    ["a revision that is no number", { ...report, shards: { "config-00": { revision: "3", sha256: "aa" } } }],
    ["a negative revision", { ...report, shards: { "config-00": { revision: -1, sha256: "aa" } } }],
    ["errors that are no list", { ...report, errors: {} }],
    ["an error without a name", { ...report, errors: [{ ...error, name: null }] }],
    ["a mark without a uid", { ...report, marks: [{ ...mark, uid: 5 }] }],
    [
      "far too many shards",
      {
        ...report,
        shards: Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`s${at}`, { revision: 1, sha256: "" }])),
      },
    ],
  ])("with %s is none", (_what, value) => {
    expect(() => parseReport(value)).toThrow(TypeError);
  });
});
