import { describe, expect, test } from "vitest";
import type { ConfigzMark } from "../../../crds/configz.ts";
import type { ConfigReport } from "../../../runtime/http/server/configz.ts";
import { joinReports } from "../../../runtime/processes/join-reports.ts";

function report(changes: Partial<ConfigReport> = {}): ConfigReport {
  return {
    version: "v",
    pod: "pod",
    ready: true,
    hash: "new",
    content_hash: "new-content",
    applied_at: "2026-01-01T00:00:01.000Z",
    partners: 2,
    catalogs: 1,
    quotas: 1,
    problems: 0,
    shards: { "config-00": { revision: 2, sha256: "b" } },
    errors: [],
    marks: [],
    ...changes,
  };
}

const old = report({
  hash: "old",
  content_hash: "old-content",
  applied_at: "2026-01-01T00:00:00.000Z",
  partners: 1,
  shards: { "config-00": { revision: 1, sha256: "a" } },
});
const error = {
  kind: "WebhookPartner",
  namespace: "n",
  name: "p",
  generation: 1,
  reason: "Bad",
  message: "m",
} as const;

function mark(changes: Partial<ConfigzMark>): ConfigzMark {
  const partner = { kind: "WebhookPartner", namespace: "n", name: "p", uid: "u", generation: 1 } as const;
  return { ...partner, reason: "Verified", message: "m", since: "2026-01-01T00:00:00.000Z", ...changes };
}

describe("the report of a pod", () => {
  test("equals that of its processes while they agree", () => {
    const { version: _version, ...joined } = joinReports("pod", true, [report(), report()]);
    const { version: _other, ...one } = report();
    expect(joined).toEqual(one);
  });

  test("shows a configuration only when every process runs it", () => {
    const behind = joinReports("pod", true, [report(), old]);
    expect(behind).toMatchObject({ hash: "old", content_hash: "old-content", partners: 1 });
    expect(behind.shards).toEqual({ "config-00": { revision: 1, sha256: "a" } });
    expect(behind.version).not.toBe(joinReports("pod", true, [report(), report()]).version);
  });

  test("holds nothing until every process has reported", () => {
    const joined = joinReports("pod", true, [report(), undefined]);
    expect(joined).toMatchObject({ ready: false, hash: null, applied_at: null, shards: {}, partners: 0 });
    expect(joinReports("pod", true, [report(), report({ hash: null })])).toMatchObject({ ready: false, hash: null });
  });

  test("shows the error of any process, and equal errors once", () => {
    const shards = { "config-00": { revision: 2, sha256: "b", error: "cannot be applied" } };
    const joined = joinReports("pod", true, [report({ errors: [error] }), report({ shards, errors: [error] })]);
    expect(joined.errors).toEqual([error]);
    expect(joined.shards["config-00"]).toEqual({ revision: 2, sha256: "b", error: "cannot be applied" });
  });

  test("leaves a shard out that a process has never read", () => {
    expect(joinReports("pod", true, [report(), report({ shards: {} })]).shards).toEqual({});
  });

  test("has the last mark of each kind per partner", () => {
    const disabled = mark({ reason: "PartnerDisabled" });
    const later = mark({ reason: "ConsentRefused", since: "2026-01-02T00:00:00.000Z" });
    const joined = joinReports("pod", true, [
      report({ marks: [disabled, later] }),
      report({ marks: [mark({}), disabled] }),
    ]);
    expect(joined.marks).toHaveLength(2);
    expect(joined.marks).toEqual(expect.arrayContaining([disabled, later]));
  });

  test("is not ready when the pod is not", () => {
    expect(joinReports("pod", false, [report()]).ready).toBe(false);
  });
});
