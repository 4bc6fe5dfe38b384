import { describe, expect, test } from "vitest";
import { materialIdsOf, storeMaterialIdsOf } from "../../../crds/material.ts";
import { createCertificateAuthority } from "../../support/tls/certificate-authority.ts";
import type { Changes } from "../valid-objects.ts";
import { compiled, first, materialOf, resourceOf } from "./resources.ts";

const authority = createCertificateAuthority("stores");
const [client, other] = [authority.issue({ commonName: "runtime" }), authority.issue({ commonName: "other" })];

type Entries = Readonly<Record<string, string>>;

/** A catalog whose first store has these settings, and Secrets by name. */
function compileWith(changes: Changes, secrets: Readonly<Record<string, Entries>> = {}) {
  const encoded = Object.entries(secrets).map(([name, entries]) => {
    const base64 = Object.entries(entries).map(([entry, text]) => [entry, Buffer.from(text).toString("base64")]);
    return [`default/${name}`, Object.fromEntries(base64) as Entries] as const;
  });
  const https = { "stores[0].prometheus.url": "https://eu.example" };
  const { config, results } = compiled([resourceOf("MetricCatalog", { ...https, ...changes })], new Map(encoded));
  return { config, catalog: config.catalogs[0], result: first(results) };
}

const basic = { "stores[0].prometheus.auth": { basic: { secretRef: { name: "login" } } } };
const bearer = { "stores[0].prometheus.auth": { bearer: { secretRef: { name: "login" } } } };
const tls = {
  "stores[0].prometheus.tls": {
    caSecretRef: { name: "ca" },
    clientSecretRef: { name: "client" },
    serverName: "store.internal",
  },
};
const certificates = { ca: { "ca.crt": authority.cert }, client: { "tls.crt": client.cert, "tls.key": client.key } };
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("what a store needs from Secrets", () => {
  test("is named by material ids, and the bytes are kept apart", () => {
    const { config, catalog } = compileWith({ ...bearer, ...tls }, { ...certificates, login: { token: "abc" } });
    const ids = {
      token: materialOf("default/login/token", base64("abc")),
      ca: materialOf("default/ca/ca.crt", base64(authority.cert)),
      certificate: materialOf("default/client/tls.crt", base64(client.cert)),
      key: materialOf("default/client/tls.key", base64(client.key)),
    };
    expect(catalog?.stores[0]?.prometheus).toMatchObject({
      auth: { kind: "bearer", token: ids.token },
      tls: { ca: ids.ca, client: { certificate: ids.certificate, key: ids.key }, serverName: "store.internal" },
    });
    expect(Object.keys(config.material).sort()).toEqual(Object.values(ids).sort());
    expect(catalog === undefined ? [] : [...materialIdsOf(catalog)].sort()).toEqual(Object.values(ids).sort());
    expect(JSON.stringify({ ...config, material: {} })).not.toContain(base64("abc"));
  });

  test("is a user name and a password, each without the line feed that an editor leaves", () => {
    const { config } = compileWith(basic, { login: { username: "reader\n", password: "pass word:1\r\n" } });
    expect(
      Object.values(config.material)
        .map((text) => Buffer.from(text, "base64").toString())
        .sort(),
    ).toEqual(["pass word:1", "reader"]);
  });

  const rows: readonly (readonly [
    sentence: string,
    changes: Changes,
    secrets: Readonly<Record<string, Entries>>,
    fault: string,
  ])[] = [
    ["there is no such Secret", basic, {}, "SecretNotFound spec.stores[0].prometheus.auth.basic.secretRef.name"],
    [
      "the Secret lacks an entry",
      basic,
      { login: { username: "a" } },
      "SecretKeyMissing spec.stores[0].prometheus.auth.basic.secretRef.passwordKey",
    ],
    [
      "a user name holds a colon",
      basic,
      { login: { username: "a:b", password: "c" } },
      "CredentialInvalid spec.stores[0].prometheus.auth.basic.secretRef.usernameKey",
    ],
    [
      "a token would end the header",
      bearer,
      { login: { token: "a\nX-Evil: b" } },
      "CredentialInvalid spec.stores[0].prometheus.auth.bearer.secretRef.key",
    ],
    [
      "a token is empty",
      bearer,
      { login: { token: "\n" } },
      "CredentialInvalid spec.stores[0].prometheus.auth.bearer.secretRef.key",
    ],
    [
      "what should be trusted is no certificate",
      tls,
      { ...certificates, ca: { "ca.crt": "none" } },
      "CertificateInvalid spec.stores[0].prometheus.tls.caSecretRef.key",
    ],
    [
      "a certificate lacks its key",
      tls,
      { ...certificates, client: { "tls.crt": client.cert } },
      "SecretKeyMissing spec.stores[0].prometheus.tls.clientSecretRef.name",
    ],
    [
      "a certificate comes with another key",
      tls,
      { ...certificates, client: { "tls.crt": client.cert, "tls.key": other.key } },
      "CertificateInvalid spec.stores[0].prometheus.tls.clientSecretRef.name",
    ],
  ];
  test.each(rows)("keeps the catalog out of force when %s", (_sentence, changes, secrets, fault) => {
    const { config, result } = compileWith(changes, secrets);
    expect(config.catalogs).toEqual([]);
    expect(config.material).toEqual({});
    expect(result.resolvedRefs).toMatchObject({ status: false, reason: fault.split(" ")[0] });
    expect(result.problems.map(({ reason, field }) => `${reason} ${field}`)).toEqual([fault]);
  });

  test("goes over plain http with a warning", () => {
    const plain = { ...bearer, "stores[0].prometheus.url": "http://eu.example" };
    const { catalog, result } = compileWith(plain, { login: { token: "abc" } });
    expect(catalog).toBeDefined();
    expect(result.warnings).toEqual(["the credentials for the store eu are sent over plain http"]);
  });

  test("is compiled with its keys of AWS, the session token if the Secret has one", () => {
    const secretRef = { name: "aws", sessionTokenKey: "token" };
    const changes = { "stores[0].prometheus.auth": { sigv4: { region: "eu-west-1", secretRef } } };
    const entries = { "access-key-id": "AKID\n", "secret-access-key": "a/b+c\n", token: "t==" };
    const store = compileWith(changes, { aws: entries }).catalog?.stores[0];
    const keys = {
      accessKeyId: materialOf("default/aws/access-key-id", base64("AKID")),
      secretAccessKey: materialOf("default/aws/secret-access-key", base64("a/b+c")),
      sessionToken: materialOf("default/aws/token", base64("t==")),
    };
    expect(store?.prometheus?.auth).toEqual({ kind: "sigv4", region: "eu-west-1", keys });
    expect(store === undefined ? [] : storeMaterialIdsOf(store)).toEqual(Object.values(keys));
    const { problems } = compileWith(changes, { aws: { ...entries, "access-key-id": "A/B" } }).result;
    expect(problems).toMatchObject([{ reason: "CredentialInvalid" }]);
  });

  test("is compiled with its role of AWS, which is no Secret", () => {
    const roleArn = "arn:aws:iam::123456789012:role/reader";
    const changes = { "stores[0].prometheus.auth": { sigv4: { region: "eu-west-1", webIdentity: { roleArn } } } };
    const store = compileWith(changes, {}).catalog?.stores[0];
    expect(store?.prometheus?.auth).toEqual({ kind: "awsRole", region: "eu-west-1", roleArn });
    expect(store === undefined ? [] : storeMaterialIdsOf(store)).toEqual([]);
  });

  test("is compiled with the secret of its client, and warns of a token endpoint over plain http", () => {
    const oauth2 = {
      tokenUrl: "http://id.example/token?p=1",
      clientId: "eu",
      secretRef: { name: "login" },
      scopes: ["read", "list"],
      audience: "stores",
    };
    const changes = { "stores[0].prometheus.url": "https://eu.example", "stores[0].prometheus.auth": { oauth2 } };
    const { catalog, result } = compileWith(changes, { login: { "client-secret": "abc\n" } });
    const secret = materialOf("default/login/client-secret", base64("abc"));
    const store = catalog?.stores[0];
    expect(store?.prometheus?.auth).toEqual({
      kind: "oauth2",
      tokenUrl: "http://id.example/token?p=1",
      clientId: "eu",
      secret,
      scopes: ["read", "list"],
      audience: "stores",
    });
    expect(store === undefined ? [] : storeMaterialIdsOf(store)).toEqual([secret]);
    expect(result.warnings).toEqual([
      "the client secret of the store eu is sent to its token endpoint over plain http",
    ]);
    expect(first(compileWith(changes, {}).result.problems ?? [])).toMatchObject({ reason: "SecretNotFound" });
  });
});

describe("a store that is a peer", () => {
  const peer = {
    "stores[0].prometheus": undefined,
    "stores[0].peer": {
      url: "https://eu.example",
      auth: { bearer: { secretRef: { name: "login" } } },
      tls: { caSecretRef: { name: "ca" }, clientSecretRef: { name: "client" } },
    },
  };
  const compilePeer = (secrets: Readonly<Record<string, Entries>>, changes: Changes = {}) => {
    const encoded = Object.entries(secrets).map(([name, entries]) => {
      return [
        `default/${name}`,
        Object.fromEntries(Object.entries(entries).map(([entry, text]) => [entry, base64(text)])),
      ] as const;
    });
    const { config, results } = compiled([resourceOf("MetricCatalog", { ...peer, ...changes })], new Map(encoded));
    return { config, store: config.catalogs[0]?.stores[0], result: first(results) };
  };

  test("is compiled with its token and both sides' certificates as material", () => {
    const { config, store } = compilePeer({ ...certificates, login: { token: "abc\n" } });
    expect(store).toEqual({
      name: "eu",
      region: "eu",
      residency: "eu",
      tenancy: "Labelled",
      labelMap: {},
      settleSeconds: 300,
      peer: {
        url: "https://eu.example",
        timeoutMs: 1_000,
        increases: "Extrapolated",
        auth: { kind: "bearer", token: materialOf("default/login/token", base64("abc")) },
        tls: {
          ca: materialOf("default/ca/ca.crt", base64(authority.cert)),
          client: {
            certificate: materialOf("default/client/tls.crt", base64(client.cert)),
            key: materialOf("default/client/tls.key", base64(client.key)),
          },
        },
      },
    });
    expect(store === undefined ? [] : [...storeMaterialIdsOf(store)].sort()).toEqual(
      Object.keys(config.material).sort(),
    );
  });

  test("is compiled with its client's secret, where a token is to be fetched", () => {
    const oauth2 = {
      tokenUrl: "https://id.example/token",
      clientId: "eu",
      secretRef: { name: "login" },
      resource: "urn:peers",
    };
    const { store } = compilePeer(
      { ...certificates, login: { "client-secret": "abc\n" } },
      { "stores[0].peer.auth": { oauth2 } },
    );
    const secret = materialOf("default/login/client-secret", base64("abc"));
    expect(store?.peer?.auth).toEqual({
      kind: "oauth2",
      tokenUrl: "https://id.example/token",
      clientId: "eu",
      secret,
      resource: "urn:peers",
    });
    expect(store === undefined ? [] : storeMaterialIdsOf(store)).toContain(secret);
  });

  test.each([
    ["its token is missing", certificates, "SecretNotFound spec.stores[0].peer.auth.bearer.secretRef.name"],
    [
      "its token would end the header",
      { ...certificates, login: { token: "a\nb" } },
      "CredentialInvalid spec.stores[0].peer.auth.bearer.secretRef.key",
    ],
    [
      "its certificate comes with another key",
      { ...certificates, client: { "tls.crt": client.cert, "tls.key": other.key }, login: { token: "a" } },
      "CertificateInvalid spec.stores[0].peer.tls.clientSecretRef.name",
    ],
  ] as const)("keeps the catalog out of force when %s", (_sentence, secrets, fault) => {
    const { config, result } = compilePeer(secrets);
    expect(config.catalogs).toEqual([]);
    expect(result.problems.map(({ reason, field }) => `${reason} ${field}`)).toEqual([fault]);
  });
});

describe("a store's flavour", () => {
  const headerOf = (changes: Changes): string | undefined =>
    compileWith(changes).catalog?.stores[0]?.prometheus?.tenantHeader;
  const told = (flavour: string): Changes => ({
    "stores[0].tenancy": "StoreHeader",
    "stores[0].prometheus.flavour": flavour,
  });

  test("names the header of the tenant, unless the store does", () => {
    expect(headerOf(told("Mimir"))).toBe("X-Scope-OrgID");
    expect(headerOf(told("Thanos"))).toBe("THANOS-TENANT");
    expect(headerOf({ ...told("Mimir"), "stores[0].prometheus.tenantHeader": "X-Org" })).toBe("X-Org");
    expect(headerOf({ "stores[0].prometheus.flavour": "Mimir" })).toBeUndefined();
  });

  test("is warned of where increases of two kinds would meet in one metric", () => {
    const counter = { "metrics[0].source": { counter: { name: "deposits_total" }, intervalSeconds: 15 } };
    const mixed = { "stores[1].prometheus.flavour": "VictoriaMetrics" };
    expect(compileWith({ ...counter, ...mixed }).result.warnings).toEqual([
      "the metric cpu_util cannot be combined across latam and its other stores, because VictoriaMetrics " +
        "computes increases differently",
    ]);
    expect(compileWith(mixed).result.warnings).toEqual([]);
    expect(compileWith({ ...counter, ...mixed, "metrics[0].stores": ["latam"] }).result.warnings).toEqual([]);
  });

  test("holds its fixed headers in lower case and Thanos' coarsest resolution", () => {
    const thanos = {
      url: "https://eu.example",
      flavour: "Thanos",
      maxSourceResolution: "5m",
      headers: [{ name: "X-Source", value: "a" }],
    };
    expect(compileWith({ "stores[0].prometheus": thanos }).catalog?.stores[0]?.prometheus).toMatchObject({
      headers: { "x-source": "a" },
      maxSourceResolutionSeconds: 300,
    });
  });
});
