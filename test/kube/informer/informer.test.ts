import { pino } from "pino";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type KubeClient, createKubeClient } from "../../../kube/client/client.ts";
import { Informer, type InformerOptions, priorityOf } from "../../../kube/informer/informer.ts";
import { type KubeMetrics, createKubeMetrics } from "../../../kube/metrics.ts";
import type { KubeObject, ResourceType } from "../../../kube/client/resource.ts";
import { ManualClock, settle } from "../../support/manual-clock.ts";
import {
  type Reply,
  type ScriptedApi,
  type ScriptedFrame,
  type WatchEnding,
  frames,
  list,
  liveWatch,
  startScriptedApi,
  status,
  statusObject,
} from "../../support/scripted-api.ts";
import { waitFor } from "../../support/wait.ts";

interface Partner extends KubeObject {
  readonly spec?: { readonly secret: string };
}

const partners: ResourceType = {
  group: "heliograph.dev",
  version: "v1alpha1",
  kind: "WebhookPartner",
  plural: "webhookpartners",
};
const quick = { baseMs: 1, maxMs: 5, jitter: 0 };
const patience = { timeoutMs: 20_000, pollMs: 2 };

let api: ScriptedApi;
let client: KubeClient;
let metrics: KubeMetrics;
let registry: Registry;
let clock: ManualClock | undefined;
const running: Informer<Partner>[] = [];

beforeEach(async () => {
  clock = undefined;
  api = await startScriptedApi();
  registry = new Registry();
  metrics = createKubeMetrics(registry);
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((informer) => informer.stop()));
  await client?.close();
  await api.stop();
});

interface Seen {
  readonly informer: Informer<Partner>;
  /** One word per change, such as `added a/one 5 initial`. */
  readonly changes: string[];
}

function start(options: Partial<InformerOptions<Partner>> = {}): Seen {
  const time = clock === undefined ? {} : { clock };
  client = createKubeClient({ access: api.access, userAgent: "test", metrics, random: () => 0, ...time });
  const log = pino({ level: "silent" });
  const informer = new Informer<Partner>({
    client,
    type: partners,
    log,
    metrics,
    backoff: quick,
    random: () => 0,
    ...time,
    ...options,
  });
  const changes: string[] = [];
  informer.onChange(({ kind, key, object, origin }) => {
    changes.push(`${kind} ${key} ${object.metadata.resourceVersion ?? "-"} ${origin}`);
  });
  running.push(informer);
  informer.start();
  return { informer, changes };
}

function partner(name: string, resourceVersion: string, more: Partial<Partner> = {}): Partner {
  return { metadata: { namespace: "a", name, uid: `uid-${name}`, resourceVersion }, ...more };
}

function event(type: string, name: string, resourceVersion: string): ScriptedFrame {
  return { type, object: partner(name, resourceVersion) };
}

const bookmark = (resourceVersion: string): ScriptedFrame => ({
  type: "BOOKMARK",
  object: { metadata: { resourceVersion } },
});

/** The resource versions that watches asked to go on from. */
function resumedFrom(): readonly (string | null)[] {
  return api.requests("WATCH").map(({ query }) => query.get("resourceVersion"));
}

async function watches(count: number): Promise<void> {
  await waitFor(() => api.requests("WATCH").length >= count, { ...patience, what: `watch ${count}` });
}

describe("an informer", () => {
  test("lists, reports all objects, and watches from there with bookmarks", async () => {
    api.on("GET", list("5", [partner("one", "3"), partner("two", "4")]));
    const { informer, changes } = start();
    expect(informer.hasSynced()).toBe(false);
    expect(await informer.whenSynced()).toBe(true);
    expect(changes).toEqual(["added a/one 3 initial", "added a/two 4 initial"]);
    await watches(1);
    expect(api.requests("WATCH")[0]?.query.get("allowWatchBookmarks")).toBe("true");
    expect(resumedFrom()).toEqual(["5"]);
  });

  test("follows additions, changes and deletions", async () => {
    api.on("GET", list("5", [partner("one", "3")]));
    api.on("WATCH", frames([event("ADDED", "two", "6"), event("MODIFIED", "one", "7"), event("DELETED", "two", "8")]));
    const { informer, changes } = start();
    await waitFor(() => changes.length === 4, { ...patience, what: "the changes" });
    expect(changes.slice(1)).toEqual(["added a/two 6 watch", "updated a/one 7 watch", "deleted a/two 8 watch"]);
    expect(informer.list().map(({ metadata }) => metadata.resourceVersion)).toEqual(["7"]);
    expect(informer.get("a/two")).toBeUndefined();
  });

  test("goes on from the last bookmark when the server ends the watch, without a new list", async () => {
    api.on("GET", list("5", []));
    api.on("WATCH", frames([event("ADDED", "one", "6"), bookmark("90")], "end"));
    start();
    await watches(2);
    expect(resumedFrom()).toEqual(["5", "90"]);
    expect(api.requests("GET")).toHaveLength(1);
  });

  test("requests one namespace and one selection when configured", async () => {
    api.on("GET", list("5", []));
    const { informer } = start({
      namespace: "a",
      labelSelector: "app=x",
      fieldSelector: "metadata.name=one",
      metadataOnly: true,
    });
    await informer.whenSynced();
    await watches(1);
    for (const { path, query, headers } of api.requests()) {
      expect(path).toBe("/apis/heliograph.dev/v1alpha1/namespaces/a/webhookpartners");
      expect([query.get("labelSelector"), query.get("fieldSelector")]).toEqual(["app=x", "metadata.name=one"]);
      expect(headers.accept).toContain("as=PartialObjectMetadata");
    }
  });

  test("reads a long list page by page", async () => {
    api.on(
      "GET",
      list("5", [partner("one", "3")], "p2"),
      list("5", [partner("two", "4")], "p3"),
      list("5", [partner("three", "5")]),
    );
    const { informer } = start({ pageSize: 1 });
    await informer.whenSynced();
    expect(informer.list()).toHaveLength(3);
    expect(api.requests("GET").map(({ query }) => query.get("continue"))).toEqual([null, "p2", "p3"]);
  });

  test("reads the list in one piece when its pages expire meanwhile", async () => {
    api.on(
      "GET",
      list("5", [partner("one", "3")], "p2"),
      status(410, "Expired"),
      list("9", [partner("one", "3"), partner("two", "4")]),
    );
    const { informer } = start({ pageSize: 1 });
    await informer.whenSynced();
    await watches(1);
    expect(informer.list()).toHaveLength(2);
    expect(api.requests("GET")[2]?.query.toString()).toBe("");
    expect(resumedFrom()).toEqual(["9"]);
  });

  test("keeps no managed fields, and the rest as its trim function returns it", async () => {
    const bulky = { ...partner("one", "3"), spec: { secret: "s" } };
    api.on("GET", list("5", [{ ...bulky, metadata: { ...bulky.metadata, managedFields: [{ manager: "x" }] } }]));
    const { informer } = start({ trim: ({ metadata }) => ({ metadata }) });
    await informer.whenSynced();
    expect(informer.get("a/one")).toEqual({ metadata: bulky.metadata });
  });

  test("calls a late handler for all cached objects", async () => {
    api.on("GET", list("5", [partner("one", "3")]));
    const { informer } = start();
    await informer.whenSynced();
    const late: string[] = [];
    informer.onChange(({ kind, key }) => void late.push(`${kind} ${key}`));
    expect(late).toEqual(["added a/one"]);
  });

  test("reports an object that was deleted and made again between two events as both", async () => {
    api.on("GET", list("5", [partner("one", "3")]));
    const successor = { ...partner("one", "9"), metadata: { ...partner("one", "9").metadata, uid: "another" } };
    api.on("WATCH", frames([{ type: "MODIFIED", object: successor }]));
    const { changes } = start();
    await waitFor(() => changes.length === 3, { ...patience, what: "the changes" });
    expect(changes.slice(1)).toEqual(["deleted a/one 3 watch", "added a/one 9 watch"]);
  });
});

describe("a watch that ends badly", () => {
  const resumed: ReadonlyArray<readonly [string, Reply, string]> = [
    ["is refused with 503", status(503, "ServiceUnavailable"), "5"],
    ["is refused with 429", status(429, "TooManyRequests"), "5"],
    ["ends inside a frame", frames([event("ADDED", "one", "6")], "half frame"), "6"],
    ["is reset", frames([event("ADDED", "one", "6")], "reset"), "6"],
    [
      "carries an ERROR of 500",
      frames([event("ADDED", "one", "6"), { type: "ERROR", object: statusObject(500, "InternalError") }]),
      "6",
    ],
    [
      "carries an ERROR of 429",
      frames([bookmark("8"), { type: "ERROR", object: statusObject(429, "TooManyRequests") }]),
      "8",
    ],
    ["carries a frame that is no event", frames([bookmark("8"), { type: "ADDED", object: 7 }]), "8"],
  ];
  test.each(resumed)("goes on from the last known state without a list when it %s", async (_name, reply, from) => {
    api.on("GET", list("5", []));
    api.on("WATCH", reply, frames([event("ADDED", "after", "50")]));
    const { informer } = start();
    await waitFor(() => informer.get("a/after"), { ...patience, what: "the event after the failure" });
    expect(resumedFrom()).toEqual(["5", from]);
    expect(api.requests("GET")).toHaveLength(1);
    expect(informer.health()).toMatchObject({ lastError: undefined });
  });

  const relisted: ReadonlyArray<readonly [string, Reply]> = [
    ["is refused with 410", status(410, "Expired")],
    ["carries an ERROR of 410", frames([bookmark("6"), { type: "ERROR", object: statusObject(410, "Expired") }])],
    [
      "carries an ERROR that names no code but the reason Expired",
      frames([{ type: "ERROR", object: { reason: "Expired" } }]),
    ],
    ["is refused with 403", status(403, "Forbidden")],
  ];
  test.each(relisted)("is followed by a list that finds what was missed when it %s", async (_name, reply) => {
    api.on("GET", list("5", [partner("kept", "3"), partner("edited", "3"), partner("gone", "3")]));
    api.on("GET", list("99", [partner("kept", "3"), partner("edited", "80"), partner("new", "81")]));
    api.on("WATCH", reply);
    const { changes } = start();
    await watches(2);
    expect(changes.slice(3)).toEqual([
      "deleted a/gone 3 relist",
      "resync a/kept 3 relist",
      "updated a/edited 80 relist",
      "added a/new 81 relist",
    ]);
    expect(resumedFrom()).toEqual(["5", "99"]);
  });

  test("is doubted after six failures in a row: the list is read anew", async () => {
    api.always("GET", list("5", []));
    api.on("WATCH", ...Array.from({ length: 6 }, () => status(503, "ServiceUnavailable")));
    start();
    await watches(7);
    expect(api.requests("GET")).toHaveLength(2);
  });

  test("waits for Retry-After before it goes on", async () => {
    clock = new ManualClock();
    api.on("GET", list("5", []));
    api.on("WATCH", status(429, "TooManyRequests", 12));
    start();
    await waitFor(() => api.requests("WATCH").length === 1 && clock?.waiting === 1, { ...patience, what: "the wait" });
    clock.advance(11_999);
    await settle();
    expect(api.requests("WATCH")).toHaveLength(1);
    clock.advance(1);
    await watches(2);
  });

  test("is not asked for again in a tight loop when the server closes it at once", async () => {
    clock = new ManualClock();
    api.on("GET", list("5", []));
    api.always("WATCH", frames([], "end"));
    start({ backoff: { baseMs: 1_000, maxMs: 8_000, jitter: 0 } });
    const asked = async (times: number): Promise<void> => {
      await waitFor(() => api.requests("WATCH").length === times && clock?.waiting === 1, {
        ...patience,
        what: `watch ${times}`,
      });
    };
    await asked(1);
    clock.advance(1_000);
    await asked(2);
    clock.advance(1_999);
    await settle();
    expect(api.requests("WATCH")).toHaveLength(2);
    clock.advance(1);
    await asked(3);
  });

  test("is noticed by its silence, shows in the health, and is replaced", async () => {
    clock = new ManualClock();
    api.on("GET", list("5", []));
    api.on("WATCH", frames([event("ADDED", "first", "6")]), frames([event("ADDED", "one", "7")]));
    const { informer } = start({ silenceMs: 30_000, relistMs: 3_600_000 });
    await waitFor(() => informer.get("a/first"), { ...patience, what: "the open watch" });
    expect(informer.health()).toMatchObject({ synced: true, live: true });
    clock.advance(29_000);
    expect(informer.health().lastEventAgeMs).toBe(29_000);
    expect(await registry.getSingleMetricAsString("heliograph_informer_last_event_age_seconds")).toContain("} 29");
    clock.advance(1_000);
    await waitFor(() => informer.health().lastError?.includes("no data received"), {
      ...patience,
      what: "the failure",
    });
    clock.advance(1_000);
    await waitFor(() => informer.get("a/one"), { ...patience, what: "the event after the silence" });
    expect(resumedFrom()).toEqual(["5", "6"]);
  });
});

describe("a list that the server rejects", () => {
  test.each([
    [1, "403", status(403, "Forbidden")],
    [1, "404", status(404, "NotFound")],
    [5, "500 again and again", status(500, "InternalError")],
  ])(
    "settles the informer after %i with %s, which is alive and reports when it can list",
    async (times, _what, reply) => {
      api.on("GET", ...Array.from({ length: times }, () => reply), list("5", []));
      const { informer } = start();
      const states: string[] = [];
      informer.onState(() => states.push(`${informer.hasSynced()} ${informer.health().rejected}`));
      expect(await informer.whenSettled()).toBe(true);
      expect(await informer.whenSynced()).toBe(true);
      await waitFor(() => states.length === 2, { ...patience, what: "both states" });
      expect(states).toEqual(["false true", "true false"]);
    },
  );

  test("is a sign of life, also after a list; a connection without a response is none", async () => {
    clock = new ManualClock();
    api.on("GET", list("5", [partner("one", "3")]), status(403, "Forbidden"));
    api.on("WATCH", status(403, "Forbidden"));
    const { informer } = start({ silenceMs: 1_000 });
    await waitFor(() => informer.health().lastError !== undefined, { ...patience, what: "the rejected watch" });
    clock.advance(1_500);
    await waitFor(() => informer.health().rejected, { ...patience, what: "the rejected list" });
    expect(informer.health()).toMatchObject({ live: true, lastEventAgeMs: 0, synced: true });
    expect(informer.list().length).toBe(1);
  });
});

describe("a list that fails", () => {
  test.each([
    ["503", status(503, "ServiceUnavailable")],
    ["403", status(403, "Forbidden")],
    ["404, the kind is not there yet", status(404, "NotFound")],
  ])("with %s is asked for until it succeeds, and the error shows meanwhile", async (_name, reply) => {
    api.on("GET", reply, reply, reply, list("5", [partner("one", "3")]));
    const live = liveWatch();
    api.on("WATCH", live.reply);
    const { informer } = start({ backoff: { baseMs: 30, maxMs: 30, jitter: 0 } });
    await waitFor(() => informer.health().lastError, { ...patience, what: "the error in the health" });
    expect(informer.health()).toMatchObject({ synced: false });
    await informer.whenSynced();
    expect(informer.health()).toMatchObject({ synced: true, lastError: undefined });
  });

  test("later keeps the cache as it was", async () => {
    api.on("GET", list("5", [partner("one", "3")]), status(500, "InternalError"), list("9", [partner("one", "3")]));
    api.on("WATCH", status(410, "Expired"));
    const { informer, changes } = start({ backoff: { baseMs: 30, maxMs: 30, jitter: 0 } });
    await waitFor(() => informer.health().lastError?.includes("500"), { ...patience, what: "the failed list" });
    expect(informer.get("a/one")).toBeDefined();
    await watches(2);
    expect(changes).toEqual(["added a/one 3 initial", "resync a/one 3 relist"]);
  });
});

describe("events", () => {
  test("that come twice, late, or after their object's deletion are reported once and change nothing", async () => {
    api.on("GET", list("5", [partner("one", "3")]));
    api.on(
      "WATCH",
      frames([
        event("MODIFIED", "one", "6"),
        event("MODIFIED", "one", "6"),
        event("ADDED", "one", "3"),
        event("DELETED", "one", "7"),
        event("MODIFIED", "one", "6"),
        event("ADDED", "last", "10"),
      ]),
    );
    const { informer, changes } = start();
    await waitFor(() => informer.get("a/last"), { ...patience, what: "the last event" });
    expect(changes.slice(1)).toEqual(["updated a/one 6 watch", "deleted a/one 7 watch", "added a/last 10 watch"]);
    expect(informer.get("a/one")).toBeUndefined();
    expect(await registry.getSingleMetricAsString("heliograph_informer_stale_events_total")).toContain("} 3");
  });

  test("that were skipped are made up for by the next relist", async () => {
    clock = new ManualClock();
    api.on("GET", list("5", [partner("one", "3"), partner("two", "4")]), list("20", [partner("one", "15")]));
    api.on("WATCH", frames([event("MODIFIED", "two", "6")]));
    const { changes } = start({ relistMs: 600_000, silenceMs: 3_600_000 });
    await waitFor(() => changes.length === 3, { ...patience, what: "the open watch" });
    clock.advance(599_999);
    await settle();
    expect(api.requests("GET")).toHaveLength(1);
    clock.advance(1);
    await watches(2);
    expect(changes.slice(3)).toEqual(["deleted a/two 6 relist", "updated a/one 15 relist"]);
    expect(resumedFrom()).toEqual(["5", "20"]);
  });

  test("with versions that are not numbers are accepted in their order", async () => {
    api.on("GET", list("x-9", [partner("one", "x-8")]));
    api.on(
      "WATCH",
      frames([event("MODIFIED", "one", "x-10"), event("MODIFIED", "one", "x-10"), event("DELETED", "one", "x-11")]),
    );
    const { changes } = start();
    await waitFor(() => changes.length === 3, { ...patience, what: "the changes" });
    expect(changes.slice(1)).toEqual(["updated a/one x-10 watch", "deleted a/one x-11 watch"]);
  });
});

describe("a handler that fails", () => {
  test("by throwing or by rejecting is counted, and ends neither the informer nor the other handlers", async () => {
    api.on("GET", list("5", [partner("one", "3")]));
    api.on("WATCH", frames([event("ADDED", "two", "6")]));
    const { informer, changes } = start();
    informer.onChange(() => {
      throw new Error("thrown");
    });
    informer.onChange(() => Promise.reject(new Error("rejected")));
    const after: string[] = [];
    informer.onChange(({ key }) => void after.push(key));
    await waitFor(() => changes.length === 2, { ...patience, what: "both changes" });
    await settle();
    expect(after).toEqual(["a/one", "a/two"]);
    expect(await registry.getSingleMetricAsString("heliograph_informer_handler_errors_total")).toContain("} 4");
  });
});

describe("stopping", () => {
  const moments: ReadonlyArray<readonly [string, Reply | undefined, WatchEnding | undefined]> = [
    ["while it watches", list("5", []), "open"],
    ["while it waits for the list", undefined, undefined],
    ["while it waits to try again", status(503, "ServiceUnavailable"), undefined],
  ];
  test.each(moments)("%s ends it without an error, a timer or another request", async (_name, listReply) => {
    clock = new ManualClock();
    api.on("GET", listReply ?? (() => undefined));
    const { informer } = start();
    await waitFor(() => api.requests().length > 0, { ...patience, what: "the first request" });
    await informer.stop();
    // What was sent before may still be on its way.
    await settle();
    const asked = api.requests().length;
    expect(clock.waiting).toBe(0);
    clock.advance(3_600_000);
    await settle();
    expect(api.requests()).toHaveLength(asked);
    expect(informer.health().lastError ?? "503").toContain("503");
  });

  test("before it has synced resolves the waiting callers with false", async () => {
    api.on("GET", () => undefined);
    const { informer } = start();
    const synced = informer.whenSynced();
    await informer.stop();
    expect(await synced).toBe(false);
  });

  test("inside a handler ends the calls at once", async () => {
    api.on("GET", list("5", [partner("one", "3"), partner("two", "4")]));
    const { informer, changes } = start();
    informer.onChange(() => void informer.stop());
    await informer.whenSynced();
    await settle();
    expect(changes).toEqual(["added a/one 3 initial"]);
  });
});

test("changes of the watch are edits for a queue, relists are not", () => {
  expect(priorityOf({ kind: "added", origin: "initial" })).toBe("resync");
  expect(priorityOf({ kind: "resync", origin: "relist" })).toBe("resync");
  expect(priorityOf({ kind: "updated", origin: "relist" })).toBe("edit");
  expect(priorityOf({ kind: "deleted", origin: "watch" })).toBe("edit");
});
