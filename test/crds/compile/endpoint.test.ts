import { describe, expect, test } from "vitest";
import { materialIdsOf } from "../../../crds/material.ts";
import { createCertificateAuthority } from "../../support/tls/certificate-authority.ts";
import type { Changes } from "../valid-objects.ts";
import { compiled, first, keyOf, materialOf, resourceOf } from "./resources.ts";

const authority = createCertificateAuthority("partners");
const [client, other] = [authority.issue({ commonName: "runtime" }), authority.issue({ commonName: "other" })];
const base64 = (text: string): string => Buffer.from(text).toString("base64");

type Entries = Readonly<Record<string, string>>;

/** A partner with these settings, and Secrets by name. */
function compileWith(changes: Changes, secrets: Readonly<Record<string, Entries>> = {}) {
  const encoded = Object.entries(secrets).map(([name, entries]) => {
    return [
      `default/${name}`,
      Object.fromEntries(Object.entries(entries).map(([entry, text]) => [entry, base64(text)])),
    ] as const;
  });
  const all = new Map<string, Entries>([["default/partner", { hmac: keyOf(1) }], ...encoded]);
  const { config, results } = compiled([resourceOf("WebhookPartner", changes)], all);
  return { config, partner: config.partners[0], result: first(results) };
}

const tls = { "endpoint.caBundleRef": { name: "ca" }, "endpoint.clientCertificateRef": { name: "client" } };
const oauth2 = {
  "endpoint.oauth2": {
    tokenUrl: "https://id.example/token",
    clientId: "us",
    clientSecretRef: { name: "login", key: "secret" },
    scopes: ["b", "a"],
    dpop: true,
  },
};
const certificates = { ca: { "ca.crt": authority.cert }, client: { "tls.crt": client.cert, "tls.key": client.key } };

describe("what an endpoint needs from Secrets", () => {
  test("is named by material ids, and the bytes are kept apart", () => {
    const { config, partner } = compileWith({ ...tls, ...oauth2 }, { ...certificates, login: { secret: "hush\n" } });
    expect(partner?.endpoint).toMatchObject({
      tls: {
        ca: materialOf("default/ca/ca.crt", base64(authority.cert)),
        client: {
          certificate: materialOf("default/client/tls.crt", base64(client.cert)),
          key: materialOf("default/client/tls.key", base64(client.key)),
        },
      },
      oauth2: {
        tokenUrl: "https://id.example/token",
        clientId: "us",
        secret: materialOf("default/login/secret", base64("hush")),
        scopes: ["a", "b"],
        dpop: true,
      },
    });
    if (partner === undefined) throw new Error("no partner");
    expect(materialIdsOf(partner).toSorted()).toEqual(Object.keys(config.material).toSorted());
  });

  test("is absent by default", () => {
    const { partner } = compileWith({});
    expect(partner?.endpoint).not.toHaveProperty("tls");
    expect(partner?.endpoint).not.toHaveProperty("oauth2");
  });

  test.each<[string, Changes, Readonly<Record<string, Entries>>, string, string]>([
    ["there is no such Secret", oauth2, {}, "SecretNotFound", "spec.endpoint.oauth2.clientSecretRef.name"],
    [
      "the Secret lacks the entry",
      oauth2,
      { login: {} },
      "SecretKeyMissing",
      "spec.endpoint.oauth2.clientSecretRef.key",
    ],
    [
      "the secret is empty",
      oauth2,
      { login: { secret: "\n" } },
      "CredentialInvalid",
      "spec.endpoint.oauth2.clientSecretRef.key",
    ],
    [
      "what should be trusted is no certificate",
      tls,
      { ...certificates, ca: { "ca.crt": "none" } },
      "CertificateInvalid",
      "spec.endpoint.caBundleRef.key",
    ],
    [
      "a certificate comes with another key",
      tls,
      { ...certificates, client: { "tls.crt": client.cert, "tls.key": other.key } },
      "CertificateInvalid",
      "spec.endpoint.clientCertificateRef.name",
    ],
  ])("holds the partner without any of it when %s", (_sentence, changes, secrets, reason, field) => {
    const { config, result } = compileWith(changes, secrets);
    expect(config.partners).toMatchObject([{ held: "unresolved", state: "Paused" }]);
    expect(Object.keys(config.material)).toEqual([materialOf("default/partner/hmac", keyOf(1))]);
    expect(result).toMatchObject({ resolvedRefs: { status: false, reason }, problems: [{ field, reason }] });
  });
});
