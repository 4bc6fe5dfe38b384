import { describe, expect, test } from "vitest";
import type { ConfigzError, ConfigzMark } from "../../../crds/configz.ts";
import {
  validationBy,
  disabledBy,
  markKey,
  rolloutOf,
  type Need,
  type PodReport,
  type Pods,
  type PodView,
  type Rolled,
} from "../../../operator/observe/rollout.ts";

const times = { graceMs: 2_000, emptyGraceMs: 30_000 };
const nowMs = 100_000;
const key = "WebhookPartner/shop/acme";

const need: Need = { shard: "config-01", sinceRevision: 5, current: { revision: 7, sha256: "seven" } };
const rolled: Rolled = { key, generation: 4, needs: [need], publishedAtMs: nowMs - 10_000, isProgrammed: false };

const reportOf = (revision: number, sha256 = `of ${revision}`, more: Partial<PodReport> = {}): PodReport => ({
  shards: { "config-01": { revision, sha256 } },
  errors: new Map(),
  marks: new Map(),
  ...more,
});
const pod = (name: string, report: PodReport | undefined, more: Partial<PodView> = {}): PodView => ({
  name,
  sinceMs: nowMs - 10_000,
  report,
  silence: undefined,
  ...more,
});
const podsOf = (...list: readonly PodView[]): Pods => ({ list, emptySinceMs: undefined });
const look = (pods: Pods, changes: Partial<Rolled> = {}, atMs = nowMs) =>
  rolloutOf({ ...rolled, ...changes }, pods, atMs, times);

const error: ConfigzError = {
  kind: "WebhookPartner",
  namespace: "shop",
  name: "acme",
  generation: 4,
  reason: "Broken",
  message: "no such host",
};
const withError = (generation: number) => reportOf(7, "seven", { errors: new Map([[key, { ...error, generation }]]) });

describe("a resource is programmed", () => {
  test.each([
    ["runs what is current", reportOf(7, "seven")],
    ["runs the revision that held it first", reportOf(5)],
    ["runs one between that and the current", reportOf(6)],
    ["runs the current content under another number", reportOf(3, "seven")],
    ["reports an error about an earlier generation", withError(3)],
  ])("where a pod %s", (_what, report) => {
    expect(look(podsOf(pod("rt-1", report)))).toEqual({ kind: "programmed" });
  });

  test.each([
    ["runs an earlier revision", reportOf(4)],
    ["runs other content under the current number", reportOf(7, "another seven")],
    ["runs a later number than there is, of a Secret that was deleted", reportOf(57, "old")],
    ["does not know the shard", { ...reportOf(7), shards: {} }],
    ["reports an error about it", withError(4)],
  ])("not where a pod %s", (_what, report) => {
    expect(look(podsOf(pod("rt-1", report))).kind).not.toBe("programmed");
  });

  test("only when every pod applies it, for each shard it needs", () => {
    const material: Need = { shard: "keys-00", sinceRevision: 2, current: { revision: 2, sha256: "keys" } };
    const both = {
      ...reportOf(7, "seven"),
      shards: { "config-01": { revision: 7, sha256: "seven" }, "keys-00": { revision: 2, sha256: "keys" } },
    };
    expect(look(podsOf(pod("rt-1", both)), { needs: [need, material] })).toEqual({ kind: "programmed" });
    expect(look(podsOf(pod("rt-1", reportOf(7, "seven"))), { needs: [need, material] }).kind).toBe("lagging");
    expect(look(podsOf(pod("rt-1", reportOf(7, "seven")), pod("rt-2", reportOf(4)))).kind).toBe("lagging");
  });

  test("where a pod that does not answer any more had applied it before", () => {
    expect(look(podsOf(pod("rt-1", reportOf(6), { silence: "refused" })))).toEqual({ kind: "programmed" });
  });
});

describe("a pod that is behind", () => {
  test("is given time: from the publication, and from when it was first seen", () => {
    const late = podsOf(pod("rt-1", reportOf(4)));
    expect(look(late, { publishedAtMs: nowMs - 500 })).toEqual({ kind: "waiting", untilMs: nowMs + 1_500 });
    expect(look(podsOf(pod("rt-1", reportOf(4), { sinceMs: nowMs - 100 })))).toEqual({
      kind: "waiting",
      untilMs: nowMs + 1_900,
    });
    expect(look(late, { publishedAtMs: nowMs - 2_000 })).toMatchObject({ kind: "lagging" });
  });

  test("is named with what is known of it, three at most, in order", () => {
    const corrupt = {
      ...reportOf(4),
      shards: { "config-01": { revision: 4, sha256: "", error: "the content's sha256 is wrong" } },
    };
    const list = [
      pod("rt-5", reportOf(4)),
      pod("rt-4", undefined),
      pod("rt-3", undefined, { silence: "refused" }),
      pod("rt-2", corrupt),
      pod("rt-1", reportOf(4), { silence: "refused" }),
      pod("rt-0", reportOf(7, "seven")),
    ];
    expect(look(podsOf(...list))).toEqual({
      kind: "lagging",
      pods:
        "rt-1 (no response), rt-2 (config-01: the content's sha256 is wrong), rt-3 (no response), 2 more " +
        "of 6 ready pods",
    });
    expect(look(podsOf(pod("rt-4", undefined)))).toEqual({
      kind: "lagging",
      pods: "rt-4 (no report yet) of 1 ready pod",
    });
  });

  test("makes it fail when it reports an error about this generation", () => {
    expect(look(podsOf(pod("rt-1", reportOf(4)), pod("rt-2", withError(4))))).toEqual({
      kind: "failed",
      pod: "rt-2",
      reason: "Broken",
      message: "no such host",
    });
    expect(look(podsOf(pod("rt-2", withError(4))), { publishedAtMs: nowMs }).kind).toBe("waiting");
  });
});

describe("what was programmed", () => {
  test("stays so while a pod has not reported, and until one reports otherwise", () => {
    const isProgrammed = true;
    expect(look(podsOf(pod("rt-1", undefined)), { isProgrammed }).kind).toBe("programmed");
    expect(look(podsOf(pod("rt-1", undefined, { silence: "refused" })), { isProgrammed }).kind).toBe("programmed");
    expect(look(podsOf(pod("rt-1", reportOf(4))), { isProgrammed }).kind).toBe("lagging");
    expect(look(podsOf(pod("rt-1", withError(4))), { isProgrammed }).kind).toBe("failed");
  });

  test("stays so without any pod for a while", () => {
    const empty: Pods = { list: [], emptySinceMs: nowMs - 1_000 };
    expect(look(empty, { isProgrammed: true })).toEqual({ kind: "programmed", untilMs: nowMs + 29_000 });
    expect(look(empty, { isProgrammed: true }, nowMs + 29_000)).toEqual({ kind: "noPods" });
  });
});

test("what is new waits for the first pod only as long as for any", () => {
  const empty: Pods = { list: [], emptySinceMs: nowMs - 60_000 };
  expect(look(empty, { publishedAtMs: nowMs - 500 })).toEqual({ kind: "waiting", untilMs: nowMs + 1_500 });
  expect(look(empty)).toEqual({ kind: "noPods" });
});

test("the result of an endpoint validation is the last one of its present generation over all pods", () => {
  const marked = (reason: "Verified" | "ConsentRefused", since: string, generation = 4) => {
    const mark: ConfigzMark = {
      kind: "WebhookPartner",
      namespace: "shop",
      name: "acme",
      uid: "u-1",
      generation,
      reason,
      message: "",
      since,
    };
    return reportOf(7, "seven", { marks: new Map([[markKey(mark), mark]]) });
  };
  const pods = podsOf(
    pod("rt-1", marked("ConsentRefused", "2026-01-01T00:00:02.000Z")),
    pod("rt-2", marked("Verified", "2026-01-01T00:00:01.000Z")),
    pod("rt-3", marked("Verified", "2026-01-01T00:00:03.000Z", 3)),
    pod("rt-4", undefined),
  );
  expect(validationBy(pods, "u-1", 4)?.reason).toBe("ConsentRefused");
  expect(validationBy(pods, "u-1", 5)).toBeUndefined();
  expect(validationBy(pods, "u-2", 4)).toBeUndefined();
  expect(disabledBy(pods, "u-1", 4)).toBeUndefined();
});

test("a partner is disabled when any pod disabled its present generation", () => {
  const mark: ConfigzMark = {
    kind: "WebhookPartner",
    namespace: "shop",
    name: "acme",
    uid: "u-1",
    generation: 4,
    reason: "PartnerDisabled",
    message: "410",
    since: "",
  };
  const marked = podsOf(
    pod("rt-1", reportOf(7)),
    pod("rt-2", reportOf(7, "seven", { marks: new Map([["u-1", mark]]) })),
    pod("rt-3", undefined),
  );
  expect(disabledBy(marked, "u-1", 4)).toBe("410");
  expect(disabledBy(marked, "u-1", 5)).toBeUndefined();
  expect(disabledBy(marked, "u-2", 4)).toBeUndefined();
});
