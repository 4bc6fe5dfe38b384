import { gunzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { resourceTypes, type ResourceObject } from "../../operator/resource-types.ts";
import type { PlainObject } from "../crds/valid-objects.ts";
import { createCertificateAuthority } from "../support/tls/certificate-authority.ts";
import { waitFor } from "../support/wait.ts";
import { settledState, type State } from "./expected-state.ts";
import { allFieldEdges, type FieldEdge } from "./field-edges.ts";
import { OperatorCluster } from "./operator-cluster.ts";

let cluster: OperatorCluster;
beforeAll(async () => {
  cluster = await OperatorCluster.start();
});
afterAll(() => cluster.stop());
afterEach(() => cluster.stopAll());

const settleMs = 90_000;
const replaceMsMax = 5_000;
const callsAtOnce = 8;
const keysPerSecret = 8;
const { edges } = allFieldEdges();

/** Claims nothing that another claims: metric ids, event types, clients and keys are the object's own. */
function ownObject({ spec }: PlainObject, index: number): object {
  const names = {
    '"cpu_util"': `"m_${index}"`,
    '"other"': `"other_${index}"`,
    '"payout.processed"': `"payout.processed_${index}"`,
    '"dashboards"': `"client-${index}"`,
    '"name":"partner"': `"name":"partner-${index}"`,
  };
  const texts = Object.entries(names);
  return JSON.parse(texts.reduce((text, [name, own]) => text.replaceAll(name, own), JSON.stringify(spec)));
}

async function each<T>(items: readonly T[], call: (item: T, index: number) => Promise<unknown>): Promise<void> {
  const waiting = [...items.entries()];
  await Promise.all(
    Array.from({ length: callsAtOnce }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await call(next[1], next[0]);
    }),
  );
}

async function makeSecrets(ns: string): Promise<void> {
  const authority = createCertificateAuthority("test");
  const { cert, key } = authority.issue({ commonName: "client" });
  await cluster.secret(ns, "ca", { "ca.crt": authority.cert });
  await cluster.secret(ns, "client", { "tls.crt": cert, "tls.key": key });
  await cluster.secret(ns, "store", { username: "name", password: "word", token: "token" });
  await cluster.secret(ns, "token", { token: "token" });
  await cluster.secret(ns, "peer", { token: "token", "client-secret": "secret" });
  await each(edges, async ({ kind }, index) => {
    if (kind !== "WebhookPartner") return;
    const entries = Array.from(
      { length: keysPerSecret },
      (_, entry) => [`n${entry}`, `${index}/${entry}`.padEnd(32, "x")] as const,
    );
    await cluster.secret(ns, `partner-${index}`, {
      ...Object.fromEntries(entries),
      hmac: `${index}/hmac`.padEnd(32, "x"),
      old: `${index}/old`.padEnd(32, "x"),
    });
  });
}

/** A number of edits is left of what an object went through, and nothing else. */
function textsOf({ shards }: State): readonly string[] {
  const texts = Object.values(shards).map((bytes) => gunzipSync(Buffer.from(bytes, "base64")).toString());
  return texts.map((text) => text.replace(/"generation":\d+/gu, "").replace(/"\d+:[0-9a-f]{16}"/gu, ""));
}

test("the published bytes return after every field was at every edge of its schema and came back", async () => {
  const ns = await cluster.namespace();
  const pod = await cluster.pod(ns, "rt-0");
  await makeSecrets(ns);
  const wanted = (one: FieldEdge, which: "base" | "edge", index: number) => ({
    metadata: { namespace: ns, name: `edge-${index}` },
    spec: ownObject(one[which], index),
  });
  const put = (which: "base" | "edge") =>
    each(edges, async (one, index) => {
      // The operator writes a status between a read and its replace: then the object is read again.
      const replaced = async (): Promise<ResourceObject> => {
        const present = await cluster.object(ns, one.kind, `edge-${index}`);
        const object = { ...present, spec: wanted(one, which, index).spec } as ResourceObject;
        return cluster.client.replace(resourceTypes[one.kind], object);
      };
      const what = `${one.kind} ${one.place} = ${one.says} (${which})`;
      await waitFor(replaced, { timeoutMs: replaceMsMax, what });
    });
  await each(edges, async (one, index) => {
    await cluster.client.create(resourceTypes[one.kind], wanted(one, "base", index) as unknown as ResourceObject);
  });
  await cluster.replica(ns, { runtime: { urls: [pod.url] } });
  const before = await settledState(cluster, ns, settleMs);
  await put("edge");
  const between = await settledState(cluster, ns, settleMs);
  await put("base");
  const after = await settledState(cluster, ns, settleMs);
  expect(textsOf(between)).not.toEqual(textsOf(before));
  expect(textsOf(after)).toEqual(textsOf(before));
  expect(pod.faultsSeen).toEqual([]);
  const inForce = (state: State) => Object.values(state.statuses).filter((text) => text.includes("Ready=True")).length;
  expect(inForce(after)).toBe(inForce(before));
  // Those that are not share the default of a class with an older one.
  expect(inForce(before)).toBeGreaterThan(edges.length * 0.9);
}, 240_000);
