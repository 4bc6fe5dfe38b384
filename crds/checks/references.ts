import type { Resource, WebhookPartner } from "../resource.ts";
import { otherReading, readSigningKey } from "../signing-key.ts";
import {
  entryReference,
  findEntry,
  materialOf,
  type EntryReference,
  type Material,
  type ReferenceProblem,
  type Secrets,
} from "./secret-entry.ts";
import { type EndpointEntry, endpointReferences, resolveEndpoint } from "./endpoint-references.ts";
import { resolveStores, storeReferences, type StoreEntry } from "./store-references.ts";

/** One signing key whose bytes were found. */
export interface ResolvedKey extends Material {
  /** Place of the key in `spec.signing.keys`. */
  readonly index: number;
}

/** The resolved references of an object. */
export interface References {
  /** Signing keys of a partner. */
  readonly keys: readonly ResolvedKey[];
  /** Credentials and certificates for the stores of a catalog. */
  readonly entries: readonly StoreEntry[];
  /** Certificates and credentials for the endpoint of a partner. */
  readonly endpoint: readonly EndpointEntry[];
  readonly problems: readonly ReferenceProblem[];
  readonly warnings: readonly string[];
  /** A sentence for each signing key that recipients may read as other bytes. */
  readonly ambiguousKeys: readonly string[];
}

/** The result for an object without references. */
export const noReferences: References = {
  keys: [],
  entries: [],
  endpoint: [],
  problems: [],
  warnings: [],
  ambiguousKeys: [],
};

/** Looks up what a resource refers to. */
export function resolveReferences(resource: Resource, secrets: Secrets): References {
  switch (resource.kind) {
    case "WebhookPartner": {
      const found = resource.spec.signing.keys.map((_key, index) => resolveKey(resource, index, secrets));
      const { endpoint, problems } = resolveEndpoint(resource, secrets);
      return {
        ...noReferences,
        endpoint,
        keys: found.flatMap(({ keys }) => keys),
        problems: [...found.flatMap((one) => one.problems), ...problems],
        warnings: found.flatMap(({ warnings }) => warnings),
        ambiguousKeys: found.flatMap(({ ambiguousKeys }) => ambiguousKeys),
      };
    }
    case "MetricCatalog":
      return { ...noReferences, ...resolveStores(resource, secrets) };
    case "QueryClassQuota":
    case "EventCatalog":
      return noReferences;
  }
}

/** `namespace/name` of every Secret that a valid resource refers to. */
export function secretNamesOf(resource: Resource): readonly string[] {
  switch (resource.kind) {
    case "WebhookPartner":
      return [
        ...resource.spec.signing.keys.map((_key, index) => keyReference(resource, index).secret),
        ...endpointReferences(resource).map(({ secret }) => secret),
      ];
    case "MetricCatalog":
      return storeReferences(resource).map(({ secret }) => secret);
    case "QueryClassQuota":
    case "EventCatalog":
      return [];
  }
}

function resolveKey(resource: WebhookPartner, index: number, secrets: Secrets): References {
  const { scheme, keys } = resource.spec.signing;
  const { id = "" } = keys[index] ?? {};
  const reference = keyReference(resource, index);
  const { bytes, problem } = findEntry(reference, secrets);
  if (problem !== undefined) return { ...noReferences, problems: [problem] };
  const key = readSigningKey(scheme, bytes);
  if ("fault" in key) {
    const { reason, message } = key.fault;
    return {
      ...noReferences,
      problems: [{ field: reference.fields.entry, reason, message: `the signing key ${id} ${message}` }],
    };
  }
  const isRaw = "secret" in key && key.secret === bytes;
  return {
    ...noReferences,
    keys: [{ index, ...materialOf(reference, bytes) }],
    warnings: isRaw ? lineFeedWarnings(id, bytes) : [],
    ambiguousKeys: isRaw ? ambiguities(id, bytes, otherReading(scheme, bytes)) : [],
  };
}

function keyReference({ metadata, spec }: WebhookPartner, index: number): EntryReference {
  const { name = "", key = "" } = spec.signing.keys[index]?.secretRef ?? {};
  return entryReference(`${metadata.namespace}/${name}`, key, `spec.signing.keys[${index}].secretRef`);
}

/** A file that an editor saved ends with a line feed, which recipients that read the key from elsewhere do not have. */
function lineFeedWarnings(id: string, bytes: Uint8Array): readonly string[] {
  return bytes.at(-1) === 0x0a ? [`the signing key ${id} ends with a newline, which is part of the key`] : [];
}

/** The bytes sign as written, as in every version. Nothing tells how the recipient reads them. */
function ambiguities(id: string, bytes: Uint8Array, decoded: Uint8Array | undefined): readonly string[] {
  if (decoded === undefined) return [];
  return [
    `the signing key ${id} is base64 without whsec_: deliveries are signed with its ${bytes.length} bytes as ` +
      `written, but Standard Webhooks libraries decode it to ${decoded.length}. If the recipient decodes it, add ` +
      "the prefix whsec_",
  ];
}
