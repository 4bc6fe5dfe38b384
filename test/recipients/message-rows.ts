import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { signBytes, type SigningKey } from "../../runtime/webhooks/signing/keys.ts";
import { contentDigest, signatureBase, type Component } from "../../runtime/webhooks/signing/message-signature.ts";
import { pemOf, privateKeyOf, rfcEd25519, signingKey } from "../runtime/webhooks/signing/key-material.ts";
import { edKey, edPublic, otherKey, p256Key, p256Public, p384Key, p384Public } from "./public-keys.ts";
import { accepted, after, bodyText, path, refused, sent, sentAtMs, type Row, type Vector } from "./vector-rows.ts";

const message = { scheme: "HttpMessageSignatures", secrets: [], public_keys: [edPublic] } as const;
const acceptedByEd = { ...accepted, key: edPublic.id };
const host = { Host: "partner.example" };
const headers = made([signingKey(message.scheme, pemOf(rfcEd25519))]);
const queried = { target: `${path}?shard=7` };

/** Headers of an attempt as the product sends them. */
function made(keys: readonly SigningKey[], more: { readonly target?: string } = {}): Vector["headers"] {
  return { ...host, ...sent({ scheme: message.scheme, keys, ...more }) };
}

const created = Math.floor(sentAtMs / 1_000);
const keyId = `keyid="${edPublic.id}"`;
const digest = contentDigest(Buffer.from(bodyText));
const [method, ownPath, ownDigest] = [
  ["@method", "POST"],
  ["@path", path],
  ["content-digest", digest],
] as const;

/** Headers with a signature over any components, as another sender makes it. */
function signed(
  components: readonly Component[],
  parameters = `created=${created};${keyId}`,
  changes: Vector["headers"] = {},
): Vector["headers"] {
  const text = `(${components.map(([name]) => `"${name}"`).join(" ")});${parameters}`;
  const signature = signBytes(privateKeyOf(rfcEd25519), Buffer.from(signatureBase(components, text)));
  const own = { "Signature-Input": `sig1=${text}`, Signature: `sig1=:${signature.toString("base64")}:` };
  return { ...headers, ...own, ...changes };
}

/** The signature behind others, and one more behind it. */
function beside(count: number): Vector["headers"] {
  const others = (from: number, to: number, text: (label: string) => string): string[] =>
    Array.from({ length: to - from }, (_, index) => text(`other${from + index}`));
  const input = (label: string): string => `${label}=("@method");created=${created}`;
  const bytes = (label: string): string => `${label}=:AAAA:`;
  const field = (own: string, text: (label: string) => string): string =>
    [...others(0, count, text), own, ...others(count, count + 1, text)].join(", ");
  return {
    ...headers,
    "Signature-Input": field(headers["Signature-Input"] ?? "", input),
    Signature: field(headers["Signature"] ?? "", bytes),
  };
}

/** The signature behind an entry of another signer. */
function behind(input: string): Vector["headers"] {
  return {
    ...headers,
    "Signature-Input": `${input}, ${headers["Signature-Input"]}`,
    Signature: `other=:AAAA:, ${headers["Signature"]}`,
  };
}

function replaced(text: string, by: string): Vector["headers"] {
  return { ...headers, "Signature-Input": (headers["Signature-Input"] ?? "").replace(text, by) };
}

function withoutHeader(name: string): Vector["headers"] {
  return Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name));
}

const sha512 = `sha-512=:${hash("sha512", bodyText, "base64")}:`;
const publishedPath = join(import.meta.dirname, "../../docs/recipients/vectors.json");
const published = JSON.parse(readFileSync(publishedPath, "utf8")) as { readonly vectors: readonly Vector[] };

/** Signatures of ECDSA are random, so that the published one stays while it is over the same headers. */
function lasting(name: string, fresh: Vector["headers"]): Vector["headers"] {
  const before = published.vectors.find((vector) => vector.name === name)?.headers;
  const isSame = before !== undefined && isDeepStrictEqual({ ...before, Signature: "" }, { ...fresh, Signature: "" });
  return isSame ? before : fresh;
}

/** Deliveries of the scheme HttpMessageSignatures. */
export const messageRows: readonly Row[] = [
  [
    "http-message-signatures-ed25519",
    "A signature of RFC 9421 over method, authority, path, digest and headers.",
    acceptedByEd,
    { ...message, headers },
  ],
  [
    "http-message-signatures-body-changed-by-one-byte",
    "Content-Digest no longer fits the body.",
    refused("digest_mismatch"),
    { ...message, headers, body: bodyText.replace("1050", "1051") },
  ],
  [
    "http-message-signatures-other-path",
    "The signature covers the path.",
    refused("signature_mismatch"),
    { ...message, headers, path: "/v1/payout" },
  ],
  [
    "http-message-signatures-other-authority",
    "The signature covers the host.",
    refused("signature_mismatch"),
    { ...message, headers: { ...headers, Host: "other.example" } },
  ],
  [
    "http-message-signatures-authority-in-upper-case",
    "@authority is the host in lower case.",
    acceptedByEd,
    { ...message, headers: { ...headers, Host: "Partner.Example" } },
  ],
  [
    "http-message-signatures-header-changed",
    "The signature covers X-Attempt.",
    refused("signature_mismatch"),
    { ...message, headers: { ...headers, "X-Attempt": "2" } },
  ],
  [
    "http-message-signatures-query",
    "The signature covers the query of the endpoint's URL.",
    acceptedByEd,
    { ...message, headers: made([edKey], queried), path: queried.target },
  ],
  [
    "http-message-signatures-other-query",
    "The query is another one than was signed.",
    refused("signature_mismatch"),
    { ...message, headers: made([edKey], queried), path: `${path}?shard=8` },
  ],
  [
    "http-message-signatures-p256",
    "The signature is r and s of ECDSA, 32 bytes each, without ASN.1.",
    { ...accepted, key: p256Public.id },
    { ...message, public_keys: [p256Public], headers: lasting("http-message-signatures-p256", made([p256Key])) },
  ],
  [
    "http-message-signatures-p384",
    "The signature is r and s of ECDSA, 48 bytes each.",
    { ...accepted, key: p384Public.id },
    { ...message, public_keys: [p384Public], headers: lasting("http-message-signatures-p384", made([p384Key])) },
  ],
  [
    "http-message-signatures-second-signature",
    "Both keys sign; the recipient knows that of sig2.",
    acceptedByEd,
    { ...message, headers: made([otherKey, edKey]) },
  ],
  [
    "http-message-signatures-unknown-key",
    "keyid names a key that the recipient does not know.",
    refused("signature_mismatch"),
    { ...message, headers: made([otherKey]) },
  ],
  [
    "http-message-signatures-key-by-another-name",
    "The key fits, but keyid names it otherwise.",
    refused("signature_mismatch"),
    { ...message, headers, public_keys: [{ ...edPublic, id: "2026-01" }] },
  ],
  [
    "http-message-signatures-age-301-s",
    "The window is checked against created, in whole seconds.",
    refused("timestamp_outside_window"),
    { ...message, headers, now: after(301) },
  ],
  [
    "http-message-signatures-expired",
    "The signature ends at expires, before the window does.",
    refused("timestamp_outside_window"),
    {
      ...message,
      headers: signed([method, ownPath, ownDigest], `created=${created};expires=${created + 10};${keyId}`),
      now: after(11),
    },
  ],
  [
    "http-message-signatures-without-created",
    "Without created, an old request could be sent again.",
    refused("timestamp_missing"),
    { ...message, headers: signed([method, ownPath, ownDigest], keyId) },
  ],
  [
    "http-message-signatures-fewer-components",
    "Method, path and digest are enough.",
    acceptedByEd,
    { ...message, headers: signed([method, ownPath, ownDigest]) },
  ],
  [
    "http-message-signatures-digest-not-covered",
    "A body that no signature covers can be changed together with its digest.",
    refused("components_missing"),
    { ...message, headers: signed([method, ownPath]) },
  ],
  [
    "http-message-signatures-header-missing",
    "The signature covers a header that did not arrive.",
    refused("components_missing"),
    { ...message, headers: signed([method, ownPath, ownDigest, ["x-absent", "1"]]) },
  ],
  [
    "http-message-signatures-component-twice",
    "A component counts once.",
    refused("signature_malformed"),
    { ...message, headers: signed([method, ownPath, ownDigest, method]) },
  ],
  [
    "http-message-signatures-sha-512",
    "Content-Digest may be of SHA-512.",
    acceptedByEd,
    {
      ...message,
      headers: signed([method, ownPath, ["content-digest", sha512]], undefined, { "Content-Digest": sha512 }),
    },
  ],
  [
    "http-message-signatures-no-digest",
    "Content-Digest is missing.",
    refused("digest_missing"),
    { ...message, headers: withoutHeader("Content-Digest") },
  ],
  [
    "http-message-signatures-no-signature",
    "Signature is missing.",
    refused("signature_missing"),
    { ...message, headers: withoutHeader("Signature") },
  ],
  [
    "http-message-signatures-of-another-label",
    "Signature has no member with the label of Signature-Input.",
    refused("signature_missing"),
    { ...message, headers: { ...headers, Signature: (headers["Signature"] ?? "").replace("sig1", "sig2") } },
  ],
  [
    "http-message-signatures-nine-entries",
    "Entries of others come first; the eighth is valid, and the ninth is not read.",
    acceptedByEd,
    { ...message, headers: beside(7) },
  ],
  [
    "http-message-signatures-ninth-entry",
    "The valid signature is the ninth entry, which is not read.",
    refused("components_missing"),
    { ...message, headers: beside(8) },
  ],
  [
    "http-message-signatures-host-with-port-443",
    "@authority leaves out a default port, which the Host has.",
    acceptedByEd,
    { ...message, headers: { ...headers, Host: "partner.example:443" } },
  ],
  [
    "http-message-signatures-entry-of-another-form",
    "An entry with parameters that are not known here is beside a valid one.",
    acceptedByEd,
    { ...message, headers: behind('other=("@query-param";name="a" "@path";req);created=1.5;alg=token;tag=")";flag') },
  ],
  [
    "http-message-signatures-component-with-parameters",
    "A component with parameters is another one than without.",
    refused("components_missing"),
    { ...message, headers: replaced('"@path"', '"@path";req') },
  ],
  [
    "http-message-signatures-expires-of-another-type",
    "expires is a whole number.",
    refused("timestamp_outside_window"),
    {
      ...message,
      headers: signed([method, ownPath, ownDigest], `created=${created};expires=${created + 100}.5;${keyId}`),
    },
  ],
  [
    "http-message-signatures-malformed",
    "The list of components does not end.",
    refused("signature_malformed"),
    { ...message, headers: { ...headers, "Signature-Input": (headers["Signature-Input"] ?? "").replace(")", "") } },
  ],
];
