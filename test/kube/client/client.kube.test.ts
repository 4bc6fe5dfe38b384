import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventRecorder } from "../../../kube/events/events.ts";
import { type KubeEvent, eventType } from "../../../kube/events/event-series.ts";
import type { KubeError } from "../../../kube/client/kube-error.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import { listAll } from "../../../kube/reflector/reflector.ts";
import { waitFor } from "../../support/wait.ts";
import {
  type ConfigMap,
  type RealApi,
  configMaps,
  log,
  secrets,
  startRealApi,
  widgetDefinition,
  widgets,
} from "../real-api.ts";

interface Widget extends KubeObject {
  readonly spec?: Readonly<Record<string, string>>;
  readonly status?: { readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }> };
}

let api: RealApi;
beforeAll(async () => {
  api = await startRealApi();
  await api.kube.kubectl(["apply", "-f", "-"], JSON.stringify(widgetDefinition));
  await waitFor(() => api.client.list(widgets), { timeoutMs: 60_000, what: "the widgets to be served" });
});
afterAll(() => api.stop());

const ref = (name: string) => ({ namespace: "default", name });
const configMap = (name: string, data: Readonly<Record<string, string>>): ConfigMap => ({ metadata: ref(name), data });

const widget = (name: string, spec: Readonly<Record<string, string>>): Widget => ({ metadata: ref(name), spec });

async function failure(call: Promise<unknown>): Promise<KubeError> {
  return await call.then(
    () => Promise.reject(new Error("the call succeeded")),
    (error: KubeError) => error,
  );
}

describe("calls to a real API server", () => {
  test("reuse one connection: 500 of them make no more than two TLS handshakes", async () => {
    await api.client.apply(configMaps, configMap("kept", { a: "1" }), { fieldManager: "test" });
    const before = api.proxy.connections();
    for (let call = 0; call < 500; call += 1) await api.client.get(configMaps, ref("kept"));
    expect(api.proxy.connections() - before).toBeLessThanOrEqual(2);
  });

  test("survive that every connection is cut between two of them", async () => {
    for (let call = 0; call < 20; call += 1) {
      api.proxy.cut();
      expect(await api.client.get(configMaps, ref("kept"))).toMatchObject({ data: { a: "1" } });
    }
  });

  test("create, read, replace and delete, and say what went wrong by kind", async () => {
    const made = await api.client.create(configMaps, configMap("crud", { a: "1" }));
    expect(await failure(api.client.create(configMaps, configMap("crud", {})))).toMatchObject({
      kind: "alreadyExists",
    });
    const replaced = await api.client.replace<ConfigMap>(configMaps, { ...made, data: { a: "2" } });
    expect(replaced.data).toEqual({ a: "2" });
    expect(await failure(api.client.replace(configMaps, { ...made, data: { a: "3" } }))).toMatchObject({
      kind: "conflict",
    });
    expect(await failure(api.client.delete(configMaps, ref("crud"), { uid: "another" }))).toMatchObject({
      kind: "conflict",
    });
    await api.client.delete(configMaps, ref("crud"), { uid: made.metadata.uid ?? "" });
    expect(await failure(api.client.get(configMaps, ref("crud")))).toMatchObject({ kind: "notFound" });
    expect(await failure(api.client.create(configMaps, configMap("Bad Name", {})))).toMatchObject({
      kind: "invalid",
      status: 422,
    });
    expect(await failure(api.client.list({ ...widgets, plural: "gadgets" }))).toMatchObject({ kind: "notFound" });
  });

  test("list page by page, every item with its kind", async () => {
    await Promise.all(
      Array.from({ length: 25 }, (_, index) => api.client.create(configMaps, configMap(`page-${index}`, {}))),
    );
    const { items } = await listAll<ConfigMap>(api.client, configMaps, { namespace: "default", limit: 10 });
    expect(items.filter(({ metadata }) => metadata.name?.startsWith("page-"))).toHaveLength(25);
    expect(new Set(items.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`))).toEqual(new Set(["v1 ConfigMap"]));
  });
});

describe("server-side apply", () => {
  test("keeps the fields of different managers apart, and refuses to take one over unless forced", async () => {
    const name = "shared";
    await api.client.apply(configMaps, configMap(name, { a: "one" }), { fieldManager: "one" });
    await api.client.apply(configMaps, configMap(name, { b: "two" }), { fieldManager: "two" });
    expect(await api.client.get(configMaps, ref(name))).toMatchObject({ data: { a: "one", b: "two" } });
    expect(
      await failure(api.client.apply(configMaps, configMap(name, { a: "taken", b: "two" }), { fieldManager: "two" })),
    ).toMatchObject({
      kind: "conflict",
      status: 409,
    });
    await api.client.apply(configMaps, configMap(name, { a: "taken", b: "two" }), { fieldManager: "two", force: true });
    await api.client.apply(configMaps, configMap(name, {}), { fieldManager: "one" });
    expect(await api.client.get(configMaps, ref(name))).toMatchObject({ data: { a: "taken", b: "two" } });
    await api.client.apply(configMaps, configMap(name, { b: "two" }), { fieldManager: "two" });
    expect((await api.client.get<ConfigMap>(configMaps, ref(name))).data).toEqual({ b: "two" });
  });

  test("that changes nothing makes no new version", async () => {
    const apply = () => api.client.apply(configMaps, configMap("same", { a: "1" }), { fieldManager: "one" });
    const [first, second] = [await apply(), await apply()];
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  test("of what was read back, with what only the server writes, is accepted", async () => {
    const read = await api.client.apply(widgets, widget("back", { a: "1" }), { fieldManager: "one" });
    expect(read.metadata.managedFields).toBeDefined();
    await api.client.apply(widgets, { ...read, spec: { a: "2" } }, { fieldManager: "one" });
    expect(await api.client.get(widgets, ref("back"))).toMatchObject({ spec: { a: "2" }, metadata: { generation: 2 } });
  });

  test("of a status touches the status alone, by the condition, and raises no generation", async () => {
    await api.client.apply(widgets, widget("judged", { a: "1" }), { fieldManager: "user" });
    const status = (conditions: ReadonlyArray<{ type: string; status: string }>): Widget => ({
      metadata: ref("judged"),
      status: { conditions },
    });
    await api.client.applyStatus(widgets, status([{ type: "Ready", status: "True" }]), { fieldManager: "one" });
    await api.client.applyStatus(widgets, status([{ type: "Seen", status: "True" }]), { fieldManager: "two" });
    const read = await api.client.applyStatus(widgets, status([{ type: "Ready", status: "False" }]), {
      fieldManager: "one",
    });
    expect(read.metadata.generation).toBe(1);
    expect(read.spec).toEqual({ a: "1" });
    expect(read.status?.conditions).toHaveLength(2);
    expect(read.status?.conditions).toContainEqual({ type: "Ready", status: "False" });
  });

  test("of a status of an object that is gone, or has changed from the version named, is refused", async () => {
    const gone = { metadata: ref("nobody"), status: {} };
    expect(await failure(api.client.applyStatus(widgets, gone, { fieldManager: "one" }))).toMatchObject({
      kind: "notFound",
    });
    const before = await api.client.apply(widgets, widget("moving", { a: "1" }), { fieldManager: "user" });
    await api.client.apply(widgets, widget("moving", { a: "2" }), { fieldManager: "user" });
    const { resourceVersion = "" } = before.metadata;
    const stale = { metadata: { ...ref("moving"), resourceVersion }, status: {} };
    expect(await failure(api.client.applyStatus(widgets, stale, { fieldManager: "one" }))).toMatchObject({
      kind: "conflict",
    });
  });

  test("of an object that was made anew under its name is refused by the uid named", async () => {
    await api.client.apply(widgets, widget("successor", {}), { fieldManager: "user" });
    const uid = "00000000-0000-0000-0000-000000000000";
    const stale = { metadata: { ...ref("successor"), uid }, spec: {} };
    expect(await failure(api.client.apply(widgets, stale, { fieldManager: "one" }))).toMatchObject({
      kind: "invalid",
      status: 422,
    });
  });
});

test("what is read as metadata only carries no data of a Secret", async () => {
  await api.kube.kubectl(["create", "secret", "generic", "hidden", "--from-literal=key=not-to-be-seen"]);
  const one = await api.client.get(secrets, ref("hidden"), { metadataOnly: true });
  const { items } = await api.client.list(secrets, { metadataOnly: true });
  expect(JSON.stringify([one, items])).not.toContain(Buffer.from("not-to-be-seen").toString("base64"));
  expect(one).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "hidden" } });
  expect(items.some(({ metadata }) => metadata.name === "hidden")).toBe(true);
});

test("events are accepted, and a repetition becomes a series of the same event", async () => {
  const { metadata } = await api.client.apply(widgets, widget("watched", {}), { fieldManager: "user" });
  const regarding = {
    apiVersion: "test.heliograph.dev/v1",
    kind: "Widget",
    namespace: "default",
    name: "watched",
    uid: metadata.uid ?? "",
  };
  const reporter = { controller: "heliograph.dev/operator", instance: "operator-0" };
  const recorder = new EventRecorder({ client: api.client, reporter, log, metrics: api.metrics });
  const occurrence = {
    regarding,
    type: "Warning",
    reason: "InvalidSpec",
    action: "Compile",
    note: "no such Secret",
  } as const;
  const events = async (): Promise<readonly KubeEvent[]> => {
    const { items } = await api.client.list<KubeEvent>(eventType, { namespace: "default" });
    return items.filter(({ regarding: about }) => about.name === "watched");
  };
  recorder.record(occurrence);
  await waitFor(async () => (await events()).length === 1, { timeoutMs: 60_000, what: "the event" });
  recorder.record(occurrence);
  recorder.record(occurrence);
  await recorder.stop(10_000);
  expect(await events()).toMatchObject([{ reason: "InvalidSpec", note: "no such Secret", series: { count: 3 } }]);
  const shown = await api.kube.kubectl(["describe", "widget", "watched"]);
  expect(shown.stdout).toContain("InvalidSpec");
});
