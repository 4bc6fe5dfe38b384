import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { Registry } from "prom-client";
import { afterEach, describe, expect, test } from "vitest";
import { type KubeClient, createKubeClient } from "../../../kube/client/client.ts";
import type { ClusterAccess } from "../../../kube/client/credentials.ts";
import { connectionsMax } from "../../../kube/client/transport.ts";
import { kubeConfigAccess } from "../../../kube/client/kube-config.ts";
import type { KubeError } from "../../../kube/client/kube-error.ts";
import { leaseType } from "../../../kube/lease/lease-record.ts";
import { createKubeMetrics } from "../../../kube/metrics.ts";
import type { ResourceType } from "../../../kube/client/resource.ts";
import { type RetryPolicy, retryPolicyDefault, singleTry } from "../../../kube/client/retry.ts";
import { selfSignedCertificate } from "../../support/tls/self-signed-certificate.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  type Reply,
  type ScriptedApi,
  answer,
  frames,
  list,
  liveWatch,
  reset,
  silence,
  startScriptedApi,
  status,
  statusObject,
} from "../../support/scripted-api.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";

const partners: ResourceType = {
  group: "heliograph.dev",
  version: "v1alpha1",
  kind: "WebhookPartner",
  plural: "webhookpartners",
};
const secrets: ResourceType = { group: "", version: "v1", kind: "Secret", plural: "secrets" };
const one = {
  apiVersion: "heliograph.dev/v1alpha1",
  kind: "WebhookPartner",
  metadata: { namespace: "a", name: "one" },
};
const ref = { namespace: "a", name: "one" };
const lease = { metadata: ref, spec: { holderIdentity: "another" } };
const quick: RetryPolicy = { ...retryPolicyDefault, backoff: { baseMs: 1, maxMs: 2, jitter: 0 } };

const cleanups: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function scripted(options: Parameters<typeof startScriptedApi>[0] = {}): Promise<ScriptedApi> {
  const api = await startScriptedApi(options);
  cleanups.push(() => api.stop());
  return api;
}

function clientOf(access: ClusterAccess, more: Partial<Parameters<typeof createKubeClient>[0]> = {}): KubeClient {
  const metrics = createKubeMetrics(new Registry());
  const client = createKubeClient({
    access,
    userAgent: "heliograph-operator/test",
    metrics,
    retry: quick,
    random: () => 0,
    ...more,
  });
  cleanups.push(() => client.close());
  return client;
}

async function ownFolder(prefix: string): Promise<string> {
  const folder = await temporaryFolder(prefix);
  cleanups.push(() => folder.remove());
  return folder.path;
}

/** As a Secret volume does it: the new file appears whole. */
async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

async function failure(call: Promise<unknown>): Promise<KubeError> {
  return await call.then(
    () => Promise.reject(new Error("the call succeeded")),
    (error: KubeError) => error,
  );
}

describe("connections", () => {
  test("are kept: 500 calls with a CA make one TLS handshake", async () => {
    const api = await scripted({ tls: selfSignedCertificate(["127.0.0.1"]) });
    api.always("GET", answer(200, one));
    const client = clientOf(api.access);
    for (let call = 0; call < 500; call += 1) await client.get(partners, ref);
    expect(api.requests()).toHaveLength(500);
    expect(api.connections()).toBeLessThanOrEqual(2);
  });

  test("are refused under an unknown CA and made anew once the CA file holds the new one", async () => {
    const folder = await ownFolder("kube-ca");
    const caFile = join(folder, "ca.crt");
    const [before, after] = [selfSignedCertificate(["127.0.0.1"]), selfSignedCertificate(["127.0.0.1"])];
    await writeFile(caFile, before.cert);
    const api = await scripted({ tls: before });
    api.always("GET", answer(200, one));
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: "rotating", server: api.url, caFile, skipTLSVerify: false },
      { name: "tester" },
    );
    const client = clientOf(kubeConfigAccess(() => config));
    await client.get(partners, ref);

    api.present(after);
    expect(await failure(client.get(partners, ref))).toMatchObject({ kind: "transient" });
    await replaceFile(caFile, after.cert);
    expect(await client.get(partners, ref)).toEqual(one);
  });

  test("are made anew when the client certificate changes, and a watch on the old one goes on", async () => {
    const folder = await ownFolder("kube-client-certificate");
    const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
    const [before, after] = [selfSignedCertificate(["tester"]), selfSignedCertificate(["tester"])];
    const server = selfSignedCertificate(["127.0.0.1"]);
    const api = await scripted({ tls: server });
    const watch = liveWatch();
    api.on("WATCH", watch.reply);
    api.always("GET", answer(200, one));
    const clock = new ManualClock();
    const config = new KubeConfig();
    const caData = Buffer.from(server.cert).toString("base64");
    await Promise.all([writeFile(certFile, before.cert), writeFile(keyFile, before.key)]);
    config.loadFromClusterAndUser(
      { name: "rotating", server: api.url, caData, skipTLSVerify: false },
      { name: "tester", certFile, keyFile },
    );
    const client = clientOf(
      kubeConfigAccess(() => config),
      { clock },
    );
    const events = client.watch(partners, { resourceVersion: "5", timeoutSeconds: 300, silenceMs: 3_600_000 });
    const first = events.next();
    await waitFor(() => watch.isOpen(), { timeoutMs: 20_000, what: "the watch" });
    const connections = api.connections();

    await Promise.all([replaceFile(certFile, after.cert), replaceFile(keyFile, after.key)]);
    clock.advance(10_000);
    await client.get(partners, ref);
    expect(api.connections()).toBe(connections + 1);
    watch.send({ type: "ADDED", object: one });
    expect((await first).value).toMatchObject({ type: "ADDED" });
    await events.return();
  });

  test("are kept while the credentials' files stay the same, however often they are read", async () => {
    const clock = new ManualClock();
    const api = await scripted({ tls: selfSignedCertificate(["127.0.0.1"]) });
    api.always("GET", answer(200, one));
    const client = clientOf(api.access, { clock });
    for (let call = 0; call < 5; call += 1) {
      await client.get(partners, ref);
      clock.advance(60_000);
    }
    expect(api.connections()).toBeLessThanOrEqual(2);
  });
});

describe("a token file", () => {
  async function withToken() {
    const tokenFile = join(await ownFolder("kube-token"), "token");
    await writeFile(tokenFile, "token-1\n");
    const api = await scripted();
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ name: "pod", server: api.url, skipTLSVerify: true }, { name: "account" });
    const access = kubeConfigAccess(
      () => config,
      () => Promise.resolve(tokenFile),
    );
    return { api, access, tokenFile };
  }

  test("is read again once it is older than its bound", async () => {
    const { api, access, tokenFile } = await withToken();
    const clock = new ManualClock();
    api.always("GET", answer(200, one));
    const client = clientOf(access, { clock, credentialsAgeMsMax: 10_000 });
    await client.get(partners, ref);
    await writeFile(tokenFile, "token-2\n");
    clock.advance(10_000);
    await client.get(partners, ref);
    expect(api.requests().map(({ headers }) => headers.authorization)).toEqual(["Bearer token-1", "Bearer token-2"]);
    expect(api.connections()).toBe(1);
  });

  test("is read again after a 401, whatever its age", async () => {
    const { api, access, tokenFile } = await withToken();
    api.on("GET", status(401, "Unauthorized"), answer(200, one));
    const client = clientOf(access);
    await writeFile(tokenFile, "token-1\n");
    expect(await failure(client.get(partners, ref))).toMatchObject({ kind: "unauthorized" });
    await writeFile(tokenFile, "token-2\n");
    await client.get(partners, ref);
    expect(api.requests().map(({ headers }) => headers.authorization)).toEqual(["Bearer token-1", "Bearer token-2"]);
  });
});

describe("an unsuccessful answer becomes an error of its kind:", () => {
  const rows: ReadonlyArray<readonly [string, number, string, KubeError["kind"]]> = [
    ["a missing object", 404, "NotFound", "notFound"],
    ["a changed object", 409, "Conflict", "conflict"],
    ["a taken name", 409, "AlreadyExists", "alreadyExists"],
    ["an expired resource version", 410, "Expired", "gone"],
    ["a missing right", 403, "Forbidden", "forbidden"],
    ["an unknown caller", 401, "Unauthorized", "unauthorized"],
    ["an object the schema refuses", 422, "Invalid", "invalid"],
    ["a server in trouble", 503, "ServiceUnavailable", "transient"],
    ["too many requests", 429, "TooManyRequests", "transient"],
  ];
  test.each(rows)("%s", async (_name, code, reason, kind) => {
    const api = await scripted();
    api.always("PATCH", status(code, reason));
    const error = await failure(clientOf(api.access).apply(partners, one, { fieldManager: "test" }));
    expect(error).toMatchObject({ kind, status: code, reason });
  });

  test("an HTML page of a proxy in between", async () => {
    const api = await scripted();
    api.always(
      "GET",
      (response) => void response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad gateway</h1>"),
    );
    expect(await failure(clientOf(api.access).get(partners, ref))).toMatchObject({
      kind: "transient",
      status: 502,
    });
  });

  test("its message carries no token", async () => {
    const api = await scripted();
    const body = {
      ...statusObject(403, "Forbidden"),
      message: "denied: Authorization: Bearer abc.def.ghi password=hunter2",
    };
    api.always("GET", answer(403, body));
    const { message } = await failure(clientOf(api.access).get(partners, ref));
    expect(message).not.toMatch(/abc\.def|hunter2/u);
    expect(message).toContain("denied");
  });
});

describe("a list", () => {
  test.each([
    ["an object without items", answer(200, { metadata: {} })],
    ["null", answer(200, null)],
    ["no JSON", (response) => void response.end("<html>")],
  ] as ReadonlyArray<readonly [string, Reply]>)(
    "that is %s is a failure, and not an empty list",
    async (_name, reply) => {
      const api = await scripted();
      api.always("GET", reply);
      const client = clientOf(api.access, { retry: singleTry(10_000) });
      expect(await failure(client.list(partners))).toMatchObject({ kind: "transient", reason: "BadAnswer" });
    },
  );

  test("without items is empty when the server sends null", async () => {
    const api = await scripted();
    api.always("GET", answer(200, { metadata: { resourceVersion: "5" }, items: null }));
    expect(await clientOf(api.access).list(partners)).toEqual({ items: [], resourceVersion: "5" });
  });
});

describe("a failed call", () => {
  test("fails with a sentence when the credentials cannot be read", async () => {
    const read = (): Promise<never> => Promise.reject(new Error("no token"));
    const client = clientOf({ server: "http://127.0.0.1:1", namespace: undefined, read }, { retry: singleTry(10_000) });
    expect(await failure(client.get(partners, ref))).toMatchObject({
      kind: "transient",
      message: expect.stringMatching(/: Broken no token$/u),
    });
  });

  test("is tried again after a 503, a reset and a 429, and then succeeds", async () => {
    const api = await scripted();
    api.on("GET", status(503, "ServiceUnavailable"), reset(), status(429, "TooManyRequests"), answer(200, one));
    expect(await clientOf(api.access).get(partners, ref)).toEqual(one);
    expect(api.requests()).toHaveLength(4);
  });

  test("is tried no more often than its policy allows", async () => {
    const api = await scripted();
    api.always("GET", status(500, "InternalError"));
    expect(await failure(clientOf(api.access).get(partners, ref))).toMatchObject({
      kind: "transient",
      status: 500,
    });
    expect(api.requests()).toHaveLength(quick.triesMax);
  });

  test("waits at least the Retry-After of a 429", async () => {
    const api = await scripted();
    const clock = new ManualClock();
    api.on("GET", status(429, "TooManyRequests", 7), answer(200, one));
    const call = clientOf(api.access, { clock }).get(partners, ref);
    await waitFor(() => clock.nextInMs === 7_000, { timeoutMs: 20_000, what: "the wait" });
    clock.advance(6_999);
    expect(clock.waiting).toBe(1);
    clock.advance(1);
    expect(await call).toEqual(one);
  });

  test("is handed to the caller when Retry-After exceeds the budget", async () => {
    const api = await scripted();
    api.always("GET", status(429, "TooManyRequests", 3_600));
    const error = await failure(clientOf(api.access).get(partners, ref));
    expect(error).toMatchObject({ kind: "transient", retryAfterMs: 3_600_000 });
    expect(api.requests()).toHaveLength(1);
  });

  test("is never repeated after a 500 when doing it twice could do harm", async () => {
    const api = await scripted();
    api.always("POST", status(500, "InternalError"));
    expect(await failure(clientOf(api.access).create(partners, one))).toMatchObject({ kind: "transient" });
    expect(api.requests()).toHaveLength(1);
  });

  test("is repeated after a 429 even for a create, since nothing was done", async () => {
    const api = await scripted();
    api.on("POST", status(429, "TooManyRequests"), answer(201, one));
    expect(await clientOf(api.access).create(partners, one)).toEqual(one);
  });

  test("fails when the server sends nothing for the time of one try", async () => {
    const api = await scripted();
    const clock = new ManualClock();
    api.always("GET", silence());
    const call = failure(clientOf(api.access, { clock, retry: { ...quick, triesMax: 1 } }).get(partners, ref));
    await waitFor(() => api.requests().length === 1, { timeoutMs: 20_000, what: "the request" });
    clock.advance(quick.tryTimeoutMs);
    expect(await call).toMatchObject({ kind: "transient", reason: "Timeout" });
  });

  test("ends with the caller's signal, also while it waits for the next try", async () => {
    const api = await scripted();
    const clock = new ManualClock();
    const stop = new AbortController();
    api.always("GET", status(429, "TooManyRequests", 20));
    const call = failure(clientOf(api.access, { clock }).get(partners, ref, { signal: stop.signal }));
    await waitFor(() => clock.nextInMs === 20_000, { timeoutMs: 20_000, what: "the wait" });
    stop.abort();
    expect(await call).toMatchObject({ kind: "aborted" });
    expect(clock.waiting).toBe(0);
  });
});

describe("when every connection is taken", () => {
  test("a call ends at its deadline, and the Lease and watches are not held up", async () => {
    const api = await scripted();
    api.always("GET", (response, request) =>
      request.path.includes("/leases/") ? answer(200, lease)(response, request) : undefined,
    );
    const clock = new ManualClock();
    const client = clientOf(api.access, { clock });
    const taken = Array.from({ length: connectionsMax.calls }, () =>
      failure(client.get(partners, ref, { retry: singleTry(60_000) })),
    );
    await waitFor(() => api.requests("GET").length === taken.length, {
      timeoutMs: 20_000,
      what: "every connection to be taken",
    });

    const waiting = failure(client.get(partners, ref, { retry: singleTry(5_000) }));
    expect(await client.get(leaseType, ref, { pool: "lease" })).toEqual(lease);
    const watch = client.watch(partners, { resourceVersion: "1", timeoutSeconds: 300, silenceMs: 300_000 });
    const watching = failure(watch.next());
    await waitFor(() => api.requests("WATCH").length === 1, { timeoutMs: 20_000, what: "the watch" });
    clock.advance(5_000);
    expect(await waiting).toMatchObject({ kind: "transient", reason: "Timeout" });

    clock.advance(60_000);
    await Promise.all(taken);
    await client.close();
    await watching;
    expect(api.requests("GET")).toHaveLength(taken.length + 1);
  });
});

describe("requests", () => {
  test("have no client-side limit: 100 at once are all under way at once", async () => {
    const api = await scripted();
    const held: Array<() => void> = [];
    api.always("GET", async (response, request) => {
      await new Promise<void>((resolve) => held.push(resolve));
      await answer(200, one)(response, request);
    });
    const client = clientOf(api.access);
    const calls = Array.from({ length: 100 }, () => client.get(partners, ref));
    await waitFor(() => held.length === 100, { timeoutMs: 20_000, what: "all requests to be under way" });
    for (const release of held) release();
    expect(await Promise.all(calls)).toHaveLength(100);
  });

  test("of an apply carry the apply content type, the field manager and the object without what the server owns", async () => {
    const api = await scripted();
    api.always("PATCH", answer(200, one));
    const client = clientOf(api.access);
    const object = {
      ...one,
      metadata: { ...one.metadata, managedFields: [], generation: 4, uid: "u1" },
      status: { x: 1 },
    };
    await client.apply(partners, object, { fieldManager: "manager", force: true });
    await client.applyStatus(partners, object, { fieldManager: "manager-status" });
    const [whole, part] = api.requests();
    expect(whole?.path).toBe("/apis/heliograph.dev/v1alpha1/namespaces/a/webhookpartners/one");
    expect(part?.path).toBe("/apis/heliograph.dev/v1alpha1/namespaces/a/webhookpartners/one/status");
    expect(whole?.headers["content-type"]).toBe("application/apply-patch+yaml");
    expect(Object.fromEntries(whole?.query ?? [])).toEqual({ fieldManager: "manager", force: "true" });
    expect(Object.fromEntries(part?.query ?? [])).toEqual({ fieldManager: "manager-status" });
    expect(JSON.parse(whole?.body ?? "")).toEqual({
      ...one,
      metadata: { ...one.metadata, uid: "u1" },
      status: { x: 1 },
    });
  });

  test("of a list ask for pages and give every item its kind", async () => {
    const api = await scripted();
    api.on("GET", list("7", [{ metadata: { namespace: "a", name: "s" } }], "more"), list("7", []));
    const client = clientOf(api.access);
    const page = await client.list(secrets, { namespace: "a", labelSelector: "app=x", limit: 1 });
    expect(page).toEqual({
      items: [{ apiVersion: "v1", kind: "Secret", metadata: { namespace: "a", name: "s" } }],
      resourceVersion: "7",
      continue: "more",
    });
    await client.list(secrets, { limit: 1, continue: "more" });
    const [first, second] = api.requests();
    expect(first?.path).toBe("/api/v1/namespaces/a/secrets");
    expect(first?.query.toString()).toBe("labelSelector=app%3Dx&limit=1");
    expect(second?.path).toBe("/api/v1/secrets");
    expect(second?.query.toString()).toBe("limit=1&continue=more");
  });

  test("for metadata only say so in Accept", async () => {
    const api = await scripted();
    api.always("GET", list("1", []));
    const client = clientOf(api.access);
    await client.list(secrets, { metadataOnly: true });
    await client.get(secrets, ref, { metadataOnly: true });
    expect(api.requests().map(({ headers }) => headers.accept)).toEqual([
      "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    ]);
  });

  test("never address a collection or a parent by an empty or dotted name", async () => {
    const api = await scripted();
    const client = clientOf(api.access);
    for (const name of ["", ".", ".."])
      await expect(client.delete(secrets, { namespace: "a", name })).rejects.toThrow(TypeError);
    expect(api.requests()).toHaveLength(0);
  });

  test("of a delete carry their preconditions", async () => {
    const api = await scripted();
    api.always("DELETE", answer(200, statusObject(200, "Success")));
    await clientOf(api.access).delete(secrets, ref, { uid: "u1" });
    expect(JSON.parse(api.requests()[0]?.body ?? "")).toMatchObject({ preconditions: { uid: "u1" } });
  });

  test("are counted under the names of client-go", async () => {
    const registry = new Registry();
    const api = await scripted();
    api.on("GET", status(503, "ServiceUnavailable"), reset(), answer(200, one));
    await clientOf(api.access, { metrics: createKubeMetrics(registry) }).get(partners, ref);
    const text = await registry.getSingleMetricAsString("rest_client_requests_total");
    for (const code of ["503", "<error>", "200"]) expect(text).toContain(`code="${code}"`);
  });
});

describe("a watch", () => {
  const options = { resourceVersion: "5", timeoutSeconds: 300, silenceMs: 30_000 };

  async function collect(client: KubeClient, more: object = {}): Promise<{ types: string[]; error?: KubeError }> {
    const types: string[] = [];
    try {
      for await (const event of client.watch(partners, { ...options, ...more })) types.push(event.type);
      return { types };
    } catch (error) {
      return { types, error: error as KubeError };
    }
  }

  const event = (type: string, resourceVersion: string) => ({
    type,
    object: { metadata: { name: "one", resourceVersion } },
  });

  test("gives events and bookmarks and ends when the server ends it", async () => {
    const api = await scripted();
    api.on("WATCH", frames([event("ADDED", "6"), event("BOOKMARK", "9"), event("DELETED", "10")], "end"));
    expect(await collect(clientOf(api.access))).toEqual({ types: ["ADDED", "BOOKMARK", "DELETED"] });
    expect(Object.fromEntries(api.requests()[0]?.query ?? [])).toEqual({
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion: "5",
      timeoutSeconds: "300",
    });
  });

  const ends: ReadonlyArray<readonly [string, ReturnType<typeof frames>, object]> = [
    ["half a frame", frames([event("ADDED", "6")], "half frame"), { kind: "transient", reason: "HalfFrame" }],
    ["a reset connection", frames([event("ADDED", "6")], "reset"), { kind: "transient" }],
    [
      "an ERROR frame of 410",
      frames([event("ADDED", "6"), { type: "ERROR", object: statusObject(410, "Expired") }]),
      { kind: "gone" },
    ],
    [
      "an ERROR frame of 500",
      frames([event("ADDED", "6"), { type: "ERROR", object: statusObject(500, "InternalError") }]),
      { kind: "transient" },
    ],
    [
      "a frame that is no event",
      frames([event("ADDED", "6"), { type: "ADDED", object: null }]),
      { reason: "BadFrame" },
    ],
  ];
  test.each(ends)("after one event fails with %s", async (_name, reply, error) => {
    const api = await scripted();
    api.on("WATCH", reply);
    expect(await collect(clientOf(api.access))).toMatchObject({ types: ["ADDED"], error });
  });

  test("fails after 30 s of silence, and continues while any data comes", async () => {
    const api = await scripted();
    const clock = new ManualClock();
    const watch = liveWatch();
    api.on("WATCH", watch.reply);
    let heard = 0;
    const result = collect(clientOf(api.access, { clock }), { onData: () => (heard += 1) });
    await waitFor(() => watch.isOpen(), { timeoutMs: 20_000, what: "the watch" });
    for (let times = 1; times <= 4; times += 1) {
      watch.send(event("BOOKMARK", `${times}`));
      await waitFor(() => heard === times, { timeoutMs: 20_000, what: `bookmark ${times}`, pollMs: 2 });
      clock.advance(29_999);
    }
    expect(clock.waiting).toBe(1);
    clock.advance(1);
    expect(await result).toMatchObject({
      types: Array.from({ length: 4 }, () => "BOOKMARK"),
      error: { kind: "transient", reason: "Timeout" },
    });
  });

  test("is given up when not even the head of an answer comes", async () => {
    const api = await scripted();
    const clock = new ManualClock();
    api.on("WATCH", silence());
    const result = collect(clientOf(api.access, { clock }));
    await waitFor(() => api.requests().length === 1, { timeoutMs: 20_000, what: "the request" });
    clock.advance(quick.tryTimeoutMs);
    expect(await result).toMatchObject({ error: { kind: "transient", reason: "Timeout" } });
  });

  test("ends with the caller's signal as aborted, and leaves no timer", async () => {
    const api = await scripted();
    const clock = new ManualClock();
    const stop = new AbortController();
    let heard = 0;
    api.on("WATCH", frames([event("ADDED", "6")]));
    const result = collect(clientOf(api.access, { clock }), { signal: stop.signal, onData: () => (heard += 1) });
    await waitFor(() => heard > 0, { timeoutMs: 20_000, what: "the first bytes" });
    stop.abort();
    expect(await result).toMatchObject({ types: ["ADDED"], error: { kind: "aborted" } });
    expect(clock.waiting).toBe(0);
  });
});
