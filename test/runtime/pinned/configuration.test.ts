import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ContentHash, canonicalJson, digestOf } from "../../../crds/compile/canonical-json.ts";
import { compile } from "../../../crds/compile/compile.ts";
import { partsOf } from "../../../crds/part.ts";
import type { RuntimeConfig } from "../../../crds/config.ts";
import { joinShards } from "../../../crds/shards/join-shards.ts";
import { allowAll } from "../../../crds/policy.ts";
import type { Resource } from "../../../crds/resource.ts";
import { splitIntoShards } from "../../../crds/shards/split-shards.ts";
import {
  readShardSecret,
  shardAnnotations,
  shardEntry,
  shardNames,
  shardOfMaterial,
  shardOfResource,
  shardPrefixDefault,
  shardSecretName,
  shardSecretType,
} from "../../../crds/shards/shards.ts";
import { createPeerClient } from "../../../runtime/metrics/federation/peer-client.ts";
import { createStoreSet } from "../../../runtime/stores/store.ts";
import { compilePartners } from "../../../runtime/webhooks/partners/partner.ts";
import { selfSignedCertificate } from "../../support/tls/self-signed-certificate.ts";
import { readPinned } from "./pinned-text.ts";

/** What the operator writes for the pods, and digests by which both compare it. */

type Spec = Pick<Resource, "kind" | "spec">;

const text = readFileSync(fileURLToPath(new URL("specs.json", import.meta.url)), "utf8");
const specs = JSON.parse(text) as readonly Spec[];

const base64 = (plain: string): string => Buffer.from(plain).toString("base64");
const certificate = selfSignedCertificate(["store.eu.example"]);
const secrets = new Map<string, Readonly<Record<string, string>>>([
  ["default/ca", { "ca.crt": base64(certificate.cert) }],
  ["default/client", { "tls.crt": base64(certificate.cert), "tls.key": base64(certificate.key) }],
  ["default/login", { username: base64("reader"), password: base64("word"), secret: base64("hush") }],
  ["default/partner", { hmac: base64("k".repeat(32)), old: base64("o".repeat(32)) }],
  ["default/token", { token: base64("abc") }],
]);

const resources = specs.map(({ kind, spec }, index) => {
  const metadata = { name: `r${index}`, namespace: "default", uid: `uid-${index}`, generation: 3 };
  return { apiVersion: "heliograph.dev/v1alpha1", kind, metadata, spec } as unknown as Resource;
});

/** Certificates are made anew for each run: their digests are masked, their bytes replaced. */
function withoutCertificates(config: RuntimeConfig): RuntimeConfig {
  const masked = JSON.stringify(config).replaceAll(
    /(?<id>default\/(?:ca|client)\/[\w.]+)@[0-9a-f]{16}/gu,
    "$<id>@made",
  );
  const parsed = JSON.parse(masked) as { material: Record<string, string> } & RuntimeConfig;
  for (const id of Object.keys(parsed.material)) if (id.endsWith("@made")) parsed.material[id] = base64("made");
  return parsed;
}

const compiled = compile({ resources, secrets, policy: allowAll });
const config = withoutCertificates(compiled.config);

/**
 * The first partner after a tenant of it is not permitted any more, and after its keys cannot be read; and the members
 * of a catalog whose credentials cannot be read.
 */
function stoodIn(): string {
  const last = partsOf(compiled.config);
  const before = { partOf: ({ metadata }: Resource) => last.get(metadata.uid ?? ""), nowMs: 9, lastGoodMs: 100 };
  const policy = { grants: allowAll.grants.map((grant) => ({ ...grant, tenants: ["acme"] })) };
  const narrowed = compile({ resources: resources.slice(0, 1), secrets, policy, before });
  const unread = compile({ resources: resources.slice(0, 3), secrets: new Map(), policy: allowAll, before });
  const [catalog = {}] = unread.config.catalogs;
  return [
    canonicalJson(withoutCertificates(narrowed.config).partners[0]),
    canonicalJson(withoutCertificates(unread.config).partners[0]),
    Object.keys(catalog).toSorted().join(),
  ].join("\n");
}

test("resources are compiled to this", () => {
  expect(compiled.results.map(({ accepted }) => accepted.reason)).toEqual(specs.map(() => "Accepted"));
  const { partners, catalogs, quotas, ...rest } = config;
  expect({
    partners: partners.map(canonicalJson).join("\n"),
    catalogs: catalogs.map(canonicalJson).join("\n"),
    quotas: quotas.map(canonicalJson).join("\n"),
    "everything else": canonicalJson(rest),
    "after rights and references are gone": stoodIn(),
  }).toEqual(readPinned("configuration.txt"));
});

const counts = { config: 2, keys: 2 };

function shardsOf(of: RuntimeConfig, token?: string) {
  return [...splitIntoShards(of, counts, token).values()];
}

test("a configuration has these digests and lies in these shards", async () => {
  const stores = createStoreSet(() => 0, createPeerClient);
  stores.apply(
    new Map(config.catalogs.flatMap((catalog) => catalog.stores.map((one) => [one.name, one]))),
    config.material,
  );
  const empty = { ...config, partners: [], catalogs: [], quotas: [], material: {} };
  const resource = { namespace: "default", name: "r0" };
  expect({
    "content hash": new ContentHash().of(config),
    "digest of a configuration": digestOf(config),
    "digests of stores": stores
      .list()
      .map(([key, { identity }]) => `${key} ${identity}`)
      .join("\n"),
    "digests of partners": compilePartners(config, [])
      .map(({ fingerprint }) => fingerprint)
      .join("\n"),
    "digests of shards": shardsOf(config, "token")
      .map(({ name, sha256 }) => `${name} ${sha256}`)
      .join("\n"),
    "shards of an empty configuration": shardsOf(empty, "token")
      .map(({ bytes }) => gunzipSync(bytes).toString())
      .join("\n"),
    "digests of resources": shardsOf(config)
      .flatMap(({ shard }) => ("digests" in shard ? [canonicalJson(shard.digests)] : []))
      .join("\n"),
    "names of shards": shardNames(counts)
      .map((name) => shardSecretName(shardPrefixDefault, name))
      .join("\n"),
    "shards of things": [
      shardOfResource("WebhookPartner", resource, { config: 32, keys: 8 }),
      shardOfResource("MetricCatalog", resource, { config: 32, keys: 8 }),
      shardOfMaterial("default/token/token@ba7816bf8f01cfea", { config: 32, keys: 8 }),
    ].join("\n"),
    "Secret of a shard": [shardSecretType, shardEntry, shardAnnotations.revision, shardAnnotations.sha256].join("\n"),
  }).toEqual(readPinned("configuration-digests.txt"));
  await stores.stop();
});

test("a Secret with a shard is read, and joined with others", () => {
  const json =
    '{"configzToken":"token","counts":{"config":2,"keys":2},"material":{"default/token/token@ba7816bf8f01cfea":"YWJj"},' +
    '"schema":1,"shard":"keys-00"}';
  const sha256 = "f3ab6eadf4a42f2c82378f91f3606f104a981b5d79707aad03b3c55ab91f518c";
  const annotations = { "heliograph.dev/revision": "5", "heliograph.dev/sha256": sha256 };
  const secret = { metadata: { annotations }, data: { "shard.json.gz": gzipSync(json).toString("base64") } };
  const read = readShardSecret(secret, "keys-00", counts);
  expect(read).toMatchObject({ revision: 5, sha256 });
  const shards = read.error === undefined ? [read.shard] : [];
  expect(shards.flatMap((shard) => ("material" in shard ? [JSON.stringify(shard.material)] : []))).toEqual([
    '{"default/token/token@ba7816bf8f01cfea":"YWJj"}',
  ]);
  expect(joinShards(shards).configzToken).toBe("token");
});
