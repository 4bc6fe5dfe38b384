import { hash, timingSafeEqual } from "node:crypto";
import { isSignedBy, signBytes, publicKeysAt, type SigningKey, type VerificationKey } from "./keys.ts";
import { parseByteSequences, parseSignatureInputs, quoted, type SignatureInput } from "./signature-fields.ts";
import {
  fault,
  pathOf,
  signaturesMax,
  singleHeader,
  timeFault,
  type IncomingRequest,
  type SignatureFault,
  type VerificationResult,
} from "./verification-result.ts";

/** The parts of an attempt that an HTTP message signature can cover. */
interface MessageParts {
  readonly method: string;
  readonly url: URL;
  /** Headers of the attempt without those of this scheme, in any case. The signature covers {@link coveredHeaders}. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Unix milliseconds. */
  readonly sentAtMs: number;
}

/** Headers of an attempt that are covered, in this order. */
const coveredHeaders = [
  "content-type",
  "x-timestamp",
  "x-event-id",
  "x-attempt",
  "x-webhook-producer",
  "x-webhook-replay",
] as const;

/** Components that a signature must cover to be accepted. */
const requiredComponents = ["@method", "@path", "content-digest"] as const;

const defaultPort = /:(?:443|80)?$/u;
const secondMs = 1_000;
/** Strongest first. The first one that is present is compared. Source: RFC 9530 §5. */
const digestAlgorithms = [
  ["sha-512", "sha512"],
  ["sha-256", "sha256"],
] as const;

/** Name and value of a covered component: one line of the signature base. */
export type Component = readonly [name: string, value: string];

/**
 * Builds the signed text. `params` is the value of the signature's member of `Signature-Input`. Source: RFC 9421 §2.5.
 */
export function signatureBase(components: readonly Component[], params: string): string {
  const lines = components.map(([name, value]) => `${quoted(name)}: ${value}`);
  return [...lines, `"@signature-params": ${params}`].join("\n");
}

/** Builds the value of `Content-Digest`. Source: RFC 9530 §2. */
export function contentDigest(body: Uint8Array): string {
  return `sha-256=:${hash("sha256", body, "base64")}:`;
}

/**
 * Builds `Content-Digest`, `Signature-Input` and `Signature` with one signature per private key. The newest key makes
 * `sig1`. Source: RFC 9421 §3.1 and §4.
 */
export function messageSignatureHeaders(
  keys: readonly SigningKey[],
  parts: MessageParts,
): Readonly<Record<string, string>> {
  const digest = contentDigest(parts.body);
  const components = componentsOf(parts, digest);
  const names = components.map(([name]) => quoted(name)).join(" ");
  const created = Math.floor(parts.sentAtMs / secondMs);
  const signed = keys.flatMap((key, index) => {
    if ("secret" in key) return [];
    const params = `(${names});created=${created};keyid=${quoted(key.keyId)};alg=${quoted(key.algorithm)}`;
    const signature = signBytes(key.privateKey, Buffer.from(signatureBase(components, params)));
    const label = `sig${index + 1}`;
    return [{ input: `${label}=${params}`, signature: `${label}=:${signature.toString("base64")}:` }];
  });
  return {
    "Content-Digest": digest,
    "Signature-Input": signed.map(({ input }) => input).join(", "),
    Signature: signed.map(({ signature }) => signature).join(", "),
  };
}

/**
 * Builds the headers of an attempt again from `Signature-Input` and `Signature`, and the text under the first one.
 *
 * @returns undefined when `Signature-Input` is malformed or covers a component that the attempt lacks
 */
export function messageSignedText(
  parts: Omit<MessageParts, "sentAtMs">,
): { readonly headers: Readonly<Record<string, string>>; readonly text: Uint8Array } | undefined {
  const digest = contentDigest(parts.body);
  const values = new Map(componentsOf(parts, digest));
  const [first] = parseSignatureInputs(parts.headers["Signature-Input"] ?? "") ?? [];
  const covered = first?.components.flatMap((name): readonly Component[] => {
    const value = values.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  if (first === undefined || covered?.length !== first.components.length) return undefined;
  return {
    headers: { ...parts.headers, "Content-Digest": digest },
    text: Buffer.from(signatureBase(covered, first.text)),
  };
}

function componentsOf({ method, url, headers }: Omit<MessageParts, "sentAtMs">, digest: string): readonly Component[] {
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const covered = coveredHeaders.flatMap((name): readonly Component[] => {
    const value = byName.get(name);
    return value === undefined ? [] : [[name, value.trim()]];
  });
  return [
    ["@method", method],
    ["@authority", url.host],
    ["@path", url.pathname],
    ...(url.search === "" ? [] : [["@query", url.search] as const]),
    ["content-digest", digest],
    ...covered,
  ];
}

/**
 * Verifies a request with all public keys in force. One signature is enough if the key that it names made it within the
 * time window. It must cover the method, the path and the digest of the received body. The key sets the algorithm; the
 * request does not. Source: RFC 9421 §3.2.
 */
export function verifyMessageSignature(
  keys: readonly VerificationKey[],
  request: IncomingRequest,
  nowMs: number,
): VerificationResult {
  const inputField = singleHeader(request, "signature-input");
  const signatureField = singleHeader(request, "signature");
  if (inputField === undefined || signatureField === undefined) return fault("signature_missing");
  const inputs = parseSignatureInputs(inputField);
  const signatures = parseByteSequences(signatureField);
  if (inputs === undefined || signatures === undefined) return fault("signature_malformed");
  const digestProblem = digestFault(request);
  if (digestProblem !== undefined) return fault(digestProblem);
  const variants = withoutDefaultPort(request);
  const results = inputs
    .slice(0, signaturesMax)
    .flatMap((input) => variants.map((one) => verifyOne(keys, one, input, signatures.get(input.label), nowMs)));
  return results.find(({ ok }) => ok) ?? results[0] ?? fault("signature_missing");
}

/**
 * The request, and the same with a host without a default port. A signature leaves that out, but proxies and clients
 * send it, and a recipient behind a proxy does not know the scheme. Source: RFC 9421 §2.2.3.
 */
function withoutDefaultPort(request: IncomingRequest): readonly IncomingRequest[] {
  const host = singleHeader(request, "host") ?? singleHeader(request, ":authority") ?? "";
  const bare = host.replace(defaultPort, "");
  const named = { ...request, headers: { ...request.headers, host } };
  return bare === host ? [named] : [named, { ...request, headers: { ...request.headers, host: bare } }];
}

function digestFault(request: IncomingRequest): SignatureFault | undefined {
  const digests = parseByteSequences(singleHeader(request, "content-digest") ?? "");
  for (const [name, algorithm] of digestAlgorithms) {
    const given = digests?.get(name);
    if (given !== undefined) {
      const expected = hash(algorithm, request.body, "buffer");
      return given.length === expected.length && timingSafeEqual(given, expected) ? undefined : "digest_mismatch";
    }
  }
  return "digest_missing";
}

function verifyOne(
  keys: readonly VerificationKey[],
  request: IncomingRequest,
  { components, parameters, text }: SignatureInput,
  signature: Buffer | undefined,
  nowMs: number,
): VerificationResult {
  if (signature === undefined) return fault("signature_missing");
  const values = components.map((name) => componentOf(request, name));
  if (new Set(components).size < components.length) return fault("signature_malformed");
  if (!requiredComponents.every((name) => components.includes(name)) || !values.every((value) => value !== undefined))
    return fault("components_missing");
  const late = validityFault(parameters, nowMs);
  if (late !== undefined) return fault(late);
  const base = Buffer.from(signatureBase(values, text));
  const named = publicKeysAt(keys, nowMs).filter(({ id }) => id === parameters.get("keyid"));
  const key = named.find(({ publicKey }) => isSignedBy(publicKey, base, signature));
  return key === undefined ? fault("signature_mismatch") : { ok: true, keyId: key.id };
}

function validityFault(parameters: SignatureInput["parameters"], nowMs: number): SignatureFault | undefined {
  const [created, expires] = [parameters.get("created"), parameters.get("expires")];
  if (created === undefined) return "timestamp_missing";
  if (expires !== undefined && !(Number(expires) * secondMs >= nowMs)) return "timestamp_outside_window";
  return timeFault(typeof created === "number" ? created * secondMs : Number.NaN, nowMs);
}

/** A repeated header counts as absent. Source: RFC 9421 §2.1 for headers, §2.2 for derived components. */
function componentOf(request: IncomingRequest, name: string): Component | undefined {
  const value = name.startsWith("@") ? derivedValue(request, name) : singleHeader(request, name)?.trim();
  return value === undefined ? undefined : [name, value];
}

function derivedValue(request: IncomingRequest, name: string): string | undefined {
  const { method, target } = request;
  const query = target.indexOf("?");
  switch (name) {
    case "@method":
      return method;
    case "@authority":
      return singleHeader(request, "host")?.toLowerCase() || undefined;
    case "@path":
      return pathOf(target);
    case "@query":
      return query === -1 ? "?" : target.slice(query);
    default:
      return undefined;
  }
}
