import { createPrivateKey, X509Certificate } from "node:crypto";
import type { MetricCatalog } from "../resource.ts";
import type {
  MetricCatalogStore,
  MetricCatalogStorePeerAuthOauth2,
  MetricCatalogStorePrometheus,
  MetricCatalogStorePrometheusAuth,
} from "../types/metric-catalog.ts";
import {
  entryReference,
  findEntry,
  materialOf,
  type EntryReference,
  type Material,
  type ReferenceProblem,
  type Secrets,
} from "./secret-entry.ts";

/** Uses of an entry. */
export type Use =
  | "user name"
  | "password"
  | "token"
  | "access key id"
  | "secret access key"
  | "session token"
  | "trusted certificates"
  | "certificate"
  | "private key";

/** Which store needs something, by its place in `spec.stores`, and what for. */
interface Need {
  readonly store: number;
  readonly use: Use;
}

/** An entry of a Secret that a store needs. */
type StoreReference = EntryReference & Need;

/** An entry that a store needs, whose bytes were found and can be used. */
export type StoreEntry = Material & Need;

const pemBlock = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/gu;

/** All entries of Secrets that the stores of a catalog need, in their order. */
export function storeReferences({ metadata, spec }: MetricCatalog): readonly StoreReference[] {
  return spec.stores.flatMap((store, index) => referencesOf(store, index, metadata.namespace));
}

/** Looks up entries of Secrets, each for its use: those that were found and can be used, and each problem once. */
export function resolveUses<Reference extends EntryReference & { readonly use: Use }>(
  references: readonly Reference[],
  secrets: Secrets,
) {
  const all = references.map((reference) => ({ reference, ...resolveUse(reference, secrets) }));
  const found = all.flatMap(({ reference, material }) => (material === undefined ? [] : [{ reference, material }]));
  const problems = new Map(all.flatMap(({ problem }) => problem ?? []).map((problem) => [problem.message, problem]));
  return { found, problems: [...problems.values()] };
}

function resolveUse(
  reference: EntryReference & { readonly use: Use },
  secrets: Secrets,
): { readonly material?: Material; readonly problem?: ReferenceProblem } {
  const { bytes, problem } = findEntry(reference, secrets);
  if (problem !== undefined) return { problem };
  const { use, fields, entry, secret } = reference;
  const sent = uses[use].isText ? withoutLineEnd(bytes) : bytes;
  if (uses[use].isUsable(sent)) return { material: materialOf(reference, sent) };
  const message = `the key ${entry} of the Secret ${secret} cannot be used as ${use}`;
  return {
    problem: { field: fields.entry, reason: uses[use].isText ? "CredentialInvalid" : "CertificateInvalid", message },
  };
}

/** Looks up what the stores of a catalog need. */
export function resolveStores(
  catalog: MetricCatalog,
  secrets: Secrets,
): { readonly entries: readonly StoreEntry[]; readonly problems: readonly ReferenceProblem[] } {
  const { found, problems } = resolveUses(storeReferences(catalog), secrets);
  const entries = found.map(({ reference: { store, use }, material }) => ({ store, use, ...material }));
  return { entries, problems: problems.length > 0 ? problems : mismatches(entries, catalog.spec.stores) };
}

/** The members of both kinds of stores that name Secrets. */
interface Secured extends Pick<MetricCatalogStorePrometheus, "tls"> {
  readonly auth?: Pick<MetricCatalogStorePrometheusAuth, "basic" | "bearer" | "sigv4"> & {
    readonly oauth2?: Pick<MetricCatalogStorePeerAuthOauth2, "secretRef">;
  };
}

/** Each place where a store may name a Secret, with the entries and their uses. */
const places: readonly ((secured: Secured) => Place | undefined)[] = [
  ({ auth }) => {
    const ref = auth?.basic?.secretRef;
    const names = [
      ["user name", ref?.usernameKey ?? "", "usernameKey"],
      ["password", ref?.passwordKey ?? "", "passwordKey"],
    ] as const;
    return ref && { field: "auth.basic.secretRef", secret: ref.name, entries: names };
  },
  ({ auth }) => {
    const ref = auth?.bearer?.secretRef;
    return ref && { field: "auth.bearer.secretRef", secret: ref.name, entries: [["token", ref.key, "key"]] };
  },
  ({ auth }) => {
    const ref = auth?.oauth2?.secretRef;
    return ref && { field: "auth.oauth2.secretRef", secret: ref.name, entries: [["password", ref.key, "key"]] };
  },
  ({ auth }) => {
    const ref = auth?.sigv4?.secretRef;
    const { sessionTokenKey } = ref ?? {};
    const names = [
      ["access key id", ref?.accessKeyIdKey ?? "", "accessKeyIdKey"],
      ["secret access key", ref?.secretAccessKeyKey ?? "", "secretAccessKeyKey"],
      ...(sessionTokenKey === undefined ? [] : [["session token", sessionTokenKey, "sessionTokenKey"] as const]),
    ] as const;
    return ref && { field: "auth.sigv4.secretRef", secret: ref.name, entries: names };
  },
  ({ tls }) => {
    const ref = tls?.caSecretRef;
    return ref && { field: "tls.caSecretRef", secret: ref.name, entries: [["trusted certificates", ref.key, "key"]] };
  },
  ({ tls }) => {
    const ref = tls?.clientSecretRef;
    const names = [
      ["certificate", "tls.crt", "name"],
      ["private key", "tls.key", "name"],
    ] as const;
    return ref && { field: "tls.clientSecretRef", secret: ref.name, entries: names };
  },
];

/** One reference of a store: its field below its kind, the Secret, and (use, entry, field of the entry). */
interface Place {
  readonly field: string;
  readonly secret: string;
  readonly entries: readonly (readonly [Use, string, string])[];
}

function referencesOf(store: MetricCatalogStore, index: number, namespace: string): readonly StoreReference[] {
  const { prometheus, peer } = store;
  const named = places.flatMap((place) => place(prometheus ?? peer ?? {}) ?? []);
  return named.flatMap(({ field, secret, entries }) => {
    const at = `spec.stores[${index}].${kindOf(store)}.${field}`;
    return entries.map(([use, entry, entryField]) => ({
      store: index,
      use,
      ...entryReference(`${namespace}/${secret}`, entry, at, entryField),
    }));
  });
}

function kindOf(store: MetricCatalogStore | undefined): "prometheus" | "peer" {
  return store?.peer === undefined ? "prometheus" : "peer";
}

/**
 * Form of each entry. A header holds no control characters, a user name no colon. Source: RFC 7617 §2, RFC 6750 §2.1.
 */
const uses: Readonly<Record<Use, { readonly isText: boolean; readonly isUsable: (bytes: Buffer) => boolean }>> = {
  "user name": { isText: true, isUsable: (bytes) => isText(bytes, /^[^:\p{Cc}]+$/u) },
  password: { isText: true, isUsable: (bytes) => isText(bytes, /^\P{Cc}+$/u) },
  token: { isText: true, isUsable: (bytes) => isText(bytes, /^[!-~]+$/u) },
  "access key id": { isText: true, isUsable: (bytes) => isText(bytes, /^\w+$/u) },
  "secret access key": { isText: true, isUsable: (bytes) => isText(bytes, /^[!-~]+$/u) },
  "session token": { isText: true, isUsable: (bytes) => isText(bytes, /^[!-~]+$/u) },
  "trusted certificates": { isText: false, isUsable: areCertificates },
  certificate: { isText: false, isUsable: areCertificates },
  "private key": { isText: false, isUsable: isPrivateKey },
};

function isText(bytes: Buffer, pattern: RegExp): boolean {
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) && pattern.test(text);
}

/** A file that an editor saved ends with a line feed, which no header can hold. */
function withoutLineEnd(bytes: Buffer): Buffer {
  const end = bytes.at(-1) === 0x0a ? (bytes.at(-2) === 0x0d ? 2 : 1) : 0;
  return bytes.subarray(0, bytes.length - end);
}

function areCertificates(bytes: Buffer): boolean {
  const blocks = bytes.toString("latin1").match(pemBlock) ?? [];
  return blocks.length > 0 && blocks.every((block) => succeeds(() => new X509Certificate(block)));
}

function isPrivateKey(bytes: Buffer): boolean {
  return succeeds(() => createPrivateKey(bytes));
}

/** Certificates that are shown with another key than their own. */
function mismatches(
  entries: readonly StoreEntry[],
  stores: readonly MetricCatalogStore[],
): readonly ReferenceProblem[] {
  const byStore = Map.groupBy(entries, ({ store }) => store);
  return [...byStore].flatMap(([store, own]) =>
    mismatch(own, `spec.stores[${store}].${kindOf(stores[store])}.tls.clientSecretRef.name`),
  );
}

/** The problem of a certificate that is shown with another key than its own. */
export function mismatch(
  entries: readonly (Material & { readonly use: Use })[],
  field: string,
): readonly ReferenceProblem[] {
  const certificate = entries.find(({ use }) => use === "certificate");
  const key = entries.find(({ use }) => use === "private key");
  if (certificate === undefined || key === undefined || belongTogether(certificate, key)) return [];
  const message = "tls.key does not match the certificate in tls.crt";
  return [{ field, reason: "CertificateInvalid", message }];
}

function belongTogether(certificate: Material, key: Material): boolean {
  const [pem, keyPem] = [certificate, key].map(({ base64 }) => Buffer.from(base64, "base64"));
  return new X509Certificate(pem ?? "").checkPrivateKey(createPrivateKey(keyPem ?? ""));
}

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
