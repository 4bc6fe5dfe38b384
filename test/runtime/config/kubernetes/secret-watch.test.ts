import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { followSecret, type FollowTimes } from "../../../../runtime/config/kubernetes/secret-watch.ts";
import { Recovery } from "../../../../runtime/config/kubernetes/api-recovery.ts";
import { KubernetesRequests } from "../../../../runtime/config/kubernetes/api-requests.ts";
import {
  frames,
  list,
  liveWatch,
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
const quick: FollowTimes = { watchSeconds: 600, silenceMs: 10_000, backoff: { baseMs: 1, maxMs: 5, jitter: 0 } };

let api: ScriptedApi;
let requests: KubernetesRequests;
let ending: AbortController;
let running: Promise<void>;
/** `object VERSION`, `no object`, `KIND`, in the order they were told. */
let told: string[];
let heard: number;

beforeEach(async () => {
  api = await startScriptedApi();
  requests = new KubernetesRequests(
    { namespace: "shop", read: async () => ({ server: api.url, headers: {}, tls: {} }) },
    { userAgent: "test", limits: { responseMs: 300 } },
  );
  ending = new AbortController();
  running = Promise.resolve();
  told = [];
  heard = 0;
});

afterEach(async () => {
  ending.abort();
  await running;
  await requests.close();
  await api.stop();
});

function follow(times: Partial<FollowTimes> = {}): void {
  running = followSecret(
    {
      requests,
      namespace: "shop",
      name: "config-00",
      times: { ...quick, ...times },
      recovery: new Recovery(1, () => 0),
      random: () => 0,
      listener: {
        onObject: (object) =>
          told.push(object === undefined ? "no object" : `object ${object.metadata.resourceVersion ?? "-"}`),
        onFault: ({ kind }) => told.push(kind),
        onHeard: () => {
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
      { fieldSelector: "metadata.name=config-00" },
    ]);
    expect(Object.fromEntries(watched?.query ?? [])).toEqual({
      fieldSelector: "metadata.name=config-00",
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: "5",
      timeoutSeconds: "600",
    });
  });

  test("tells each version, what is deleted, and nothing of other names", async () => {
    api.on("GET", list("5", null as unknown as readonly unknown[]));
    api.on(
      "WATCH",
      frames([event("ADDED", "6"), event("MODIFIED", "7", "other"), bookmark("8"), event("DELETED", "9")]),
    );
    follow();
    await isTold("no object", "object 6", "no object");
    expect(heard).toBe(6);
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
    await isTold("object 4", "object 6", "object 7", "unreachable", "unreachable", "unreachable", "busy", "object 9");
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

  test("lists again when a watch has lived its time", async () => {
    api.on("GET", list("5", [secret("4")]), list("9", [secret("8")]));
    const watch = liveWatch();
    api.on("WATCH", watch.reply);
    follow({ watchSeconds: 1 });
    await waitFor(() => watch.isOpen(), { ...patience, what: "the watch" });
    const openedMs = performance.now();
    await waitFor(() => performance.now() - openedMs > 950, { ...patience, what: "the end of its time" });
    watch.finish("end");
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

  test("gives up a watch that falls silent, and one that is never answered", async () => {
    api.on("GET", list("5", [secret("4")]));
    api.on("WATCH", frames([event("MODIFIED", "6")]), silence(), frames([event("MODIFIED", "7")]));
    follow({ silenceMs: 100 });
    await waitFor(() => told.includes("object 7"), { ...patience, what: "the version after the silence" });
    expect(told.slice(0, 5)).toEqual(["object 4", "object 6", "unreachable", "unreachable", "object 7"]);
    expect(versions().slice(0, 3)).toEqual(["5", "6", "6"]);
  });

  test("tries a refused list again and tells of each refusal", async () => {
    api.on("GET", status(403, "Forbidden"), status(429, "TooManyRequests"), list("5", [secret("4")]));
    follow();
    await isTold("refused", "busy", "object 4");
    expect(api.requests("GET")).toHaveLength(3);
  });

  test("ends at once with its signal, also while it waits", async () => {
    api.always("GET", status(403, "Forbidden"));
    follow({ backoff: { baseMs: 3_600_000, maxMs: 3_600_000, jitter: 0 } });
    await isTold("refused");
    ending.abort();
    await running;
    expect(api.requests()).toHaveLength(1);
  });
});

describe("recovery", () => {
  test("wakes those who wait as soon as somebody was answered, spread over a bound", async () => {
    const recovery = new Recovery(20, () => 1);
    const startedMs = performance.now();
    const waits = [1, 2, 3].map(() => recovery.wait(3_600_000, ending.signal));
    recovery.answered();
    await Promise.all(waits);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(19);
  });

  test("ends the wait with the signal, and after the time that was asked for", async () => {
    const recovery = new Recovery(3_600_000, () => 1);
    await recovery.wait(1, ending.signal);
    const wait = recovery.wait(3_600_000, ending.signal);
    ending.abort();
    await wait;
    expect(ending.signal.aborted).toBe(true);
  });
});
