import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKubeClient, type KubeClient } from "../../../../kube/client/client.ts";
import { isKubeError } from "../../../../kube/client/kube-error.ts";
import type { KubeObject } from "../../../../kube/client/resource.ts";
import { singleTry } from "../../../../kube/client/retry.ts";
import { systemClock } from "../../../../limits/clock.ts";
import { createKubeMetrics } from "../../../../kube/metrics.ts";
import { Outage } from "../../../../kube/outage.ts";
import { followSecret, type FollowTimes } from "../../../../runtime/config/kubernetes/secret-watch.ts";
import {
  frames,
  list,
  reset,
  silence,
  startScriptedApi,
  status,
  statusObject,
  type ScriptedApi,
  type ScriptedFrame,
} from "../../../support/scripted-api.ts";
import { waitFor } from "../../../support/wait.ts";

const patience = { timeoutMs: 20_000, pollMs: 2 };
const quick: FollowTimes = {
  relistMs: 600_000,
  silenceMs: 10_000,
  listTimeoutMs: 10_000,
  backoff: { baseMs: 1, maxMs: 5, jitter: 0 },
};

let api: ScriptedApi;
let client: KubeClient;
let ending: AbortController;
let running: Promise<void>;
/** `object VERSION`, `no object`, `KIND`, in the order they were told. */
let told: string[];
let heard: number;

beforeEach(async () => {
  api = await startScriptedApi();
  client = createKubeClient({
    access: api.access,
    userAgent: "test",
    metrics: createKubeMetrics(new Registry()),
    retry: singleTry(300),
  });
  ending = new AbortController();
  running = Promise.resolve();
  told = [];
  heard = 0;
});

afterEach(async () => {
  ending.abort();
  await running;
  await client.close();
  await api.stop();
});

function follow(times: Partial<FollowTimes> = {}): void {
  running = followSecret(
    {
      client,
      namespace: "shop",
      name: "config-00",
      times: { ...quick, ...times },
      outage: new Outage(systemClock, () => 0),
      random: () => 0,
      listener: {
        onSecret: (object) =>
          told.push(
            object === undefined ? "no object" : `object ${(object as KubeObject).metadata.resourceVersion ?? "-"}`,
          ),
        onFault: (error) => told.push(isKubeError(error) ? error.kind : "unknown"),
        onData: () => {
          heard += 1;
        },
      },
    },
    ending.signal,
  );
}

const secret = (resourceVersion: string, name = "config-00") => ({ metadata: { name, resourceVersion } });
const event = (type: string, version: string, name?: string): ScriptedFrame => ({
  type,
  object: secret(version, name),
});
const bookmark = (resourceVersion: string): ScriptedFrame => ({
  type: "BOOKMARK",
  object: { metadata: { resourceVersion } },
});
const error = (code: number, reason: string): ScriptedFrame => ({ type: "ERROR", object: statusObject(code, reason) });
const isTold = (...expected: string[]) =>
  waitFor(() => told.join() === expected.join(), { ...patience, what: expected.join() });
const watches = (count: number) =>
  waitFor(() => api.requests("WATCH").length >= count, { ...patience, what: `watch ${count}` });
const versions = () => api.requests("WATCH").map(({ query }) => query.get("resourceVersion"));

describe("following one Secret", () => {
  test("lists and watches that name alone, with bookmarks and a bound in time", async () => {
    api.on("GET", list("5", [secret("4")]));
    follow();
    await watches(1);
    expect(told).toEqual(["object 4"]);
    const [listed, watched] = api.requests();
    expect([listed?.path, Object.fromEntries(listed?.query ?? [])]).toEqual([
      "/api/v1/namespaces/shop/secrets",
      { fieldSelector: "metadata.name=config-00", limit: "500" },
    ]);
    expect(Object.fromEntries(watched?.query ?? [])).toEqual({
      fieldSelector: "metadata.name=config-00",
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: "5",
      timeoutSeconds: "900",
    });
  });

  test("reports each version and deletions, and ignores other names", async () => {
    api.on("GET", list("5", null as unknown as readonly unknown[]));
    api.on(
      "WATCH",
      frames([event("ADDED", "6"), event("MODIFIED", "7", "other"), bookmark("8"), event("DELETED", "9")]),
    );
    follow();
    await isTold("no object", "object 6", "no object");
    expect(heard).toBeGreaterThanOrEqual(3);
  });

  test("goes on from the last version, be it a bookmark's, after a watch that ends or breaks", async () => {
    api.on("GET", list("5", [secret("4")]));
    api.on(
      "WATCH",
      frames([event("MODIFIED", "6")], "end"),
      frames([event("MODIFIED", "7")], "reset"),
      frames([bookmark("8")], "half frame"),
      reset(),
      status(503, "ServiceUnavailable"),
      frames([event("MODIFIED", "9")]),
    );
    follow();
    await isTold("object 4", "object 6", "object 7", "transient", "transient", "transient", "transient", "object 9");
    expect(versions()).toEqual(["5", "6", "7", "8", "8", "8"]);
    expect(api.requests("GET")).toHaveLength(1);
  });

  test("lists again when its state is too old, in the stream or as an answer", async () => {
    api.on("GET", list("5", [secret("4")]), list("20", [secret("19")]), list("30", []));
    api.on("WATCH", frames([error(410, "Expired")]), status(410, "Gone"));
    follow();
    await isTold("object 4", "gone", "object 19", "gone", "no object");
    await watches(3);
    expect(versions()).toEqual(["5", "20", "30"]);
  });

  test("lists again when the list is due, without a failure", async () => {
    api.on("GET", list("5", [secret("4")]), list("9", [secret("8")]));
    follow({ relistMs: 200 });
    await isTold("object 4", "object 8");
    expect(api.requests("GET")).toHaveLength(2);
  });

  test("lists again when a server keeps on breaking watches", async () => {
    api.always("GET", list("5", [secret("4")]));
    api.always("WATCH", reset());
    follow();
    await waitFor(() => api.requests("GET").length >= 3, { ...patience, what: "three lists" });
    expect(versions().every((version) => version === "5")).toBe(true);
  });

  test("ends a watch that falls silent, and one without a response", async () => {
    api.on("GET", list("5", [secret("4")]));
    api.on("WATCH", frames([event("MODIFIED", "6")]), silence(), frames([event("MODIFIED", "7")]));
    follow({ silenceMs: 100 });
    await waitFor(() => told.includes("object 7"), { ...patience, what: "the version after the silence" });
    expect(told.slice(0, 5)).toEqual(["object 4", "object 6", "transient", "transient", "object 7"]);
    expect(versions().slice(0, 3)).toEqual(["5", "6", "6"]);
  });

  test("tries a refused list again and reports each refusal", async () => {
    api.on("GET", status(403, "Forbidden"), status(429, "TooManyRequests"), list("5", [secret("4")]));
    follow();
    await isTold("forbidden", "transient", "object 4");
    expect(api.requests("GET")).toHaveLength(3);
  });

  test("ends at once with its signal, also while it waits", async () => {
    api.always("GET", status(403, "Forbidden"));
    follow({ backoff: { baseMs: 3_600_000, maxMs: 3_600_000, jitter: 0 } });
    await isTold("forbidden");
    ending.abort();
    await running;
    expect(api.requests()).toHaveLength(1);
  });
});
