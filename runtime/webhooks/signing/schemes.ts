// Signing: signature schemes and their headers, for the sender and for recipients. It does not store keys.
import type { SigningScheme } from "../../../crds/signing-key.ts";
import { canonicalString, hmacV1Signatures, verifyHmacV1 } from "./hmac-v1.ts";
import type { SigningKey, VerificationKey } from "./keys.ts";
import { messageSignatureHeaders, messageSignedText, verifyMessageSignature } from "./message-signature.ts";
import { standardSignedText, standardWebhookHeaders, verifyStandardWebhooks } from "./standard-webhooks.ts";
import { pathOf, singleHeader, type IncomingRequest, type VerificationResult } from "./verification-result.ts";

/** The parts of one attempt that schemes sign. */
export interface AttemptToSign {
  /** The keys that sign, at least one, the newest first. */
  readonly keys: readonly SigningKey[];
  /** @default POST */
  readonly method?: string;
  readonly url: URL;
  /** Exactly the bytes that are sent. */
  readonly body: Uint8Array;
  readonly eventId: string;
  /** Time of this attempt, corrected to JetStream's clock; Unix milliseconds. */
  readonly sentAtMs: number;
}

type Headers = Readonly<Record<string, string>>;

/** Header with the time of the attempt, ISO 8601 UTC. */
export const timestampHeader = "X-Timestamp";

/** Header of HmacV1. */
const signatureHeader = "X-Signature";

/** Headers that every attempt of every scheme has. */
export type AttemptHeaders = Headers & { readonly [timestampHeader]: string };

/** A signed attempt as its record keeps it. */
export interface SentAttempt {
  /** As `coveredUrl` of the scheme returned it. */
  readonly url: string;
  readonly eventId: string;
  /** Time of the attempt, ISO 8601 UTC with milliseconds. */
  readonly at: string;
  /** Exactly the bytes that were sent. */
  readonly body: Uint8Array;
}

/** What a recipient verifies. */
export interface SignedText {
  /** The headers that it needs, by names as sent. */
  readonly headers: Headers;
  /** The bytes under the signature of the newest key. */
  readonly text: Uint8Array;
}

/** How one signing scheme signs an attempt and verifies a request. */
interface Scheme {
  /** Headers that the scheme adds. */
  readonly sign: (attempt: AttemptToSign, headers: AttemptHeaders) => Headers;
  /** Checks whether a key that is in force signed the request. */
  readonly verify: (keys: readonly VerificationKey[], request: IncomingRequest, nowMs: number) => VerificationResult;
  /** Names of the headers that only the keys or the installation could give again. The attempt's record keeps them. */
  readonly kept: readonly string[];
  /** The part of the URL that a signature covers, with its query masked. */
  readonly coveredUrl: (url: URL) => string | undefined;
  /** Builds the headers and the signed text again; undefined when the kept headers do not fit the scheme. */
  readonly signedText: (attempt: SentAttempt, headers: AttemptHeaders) => SignedText | undefined;
}

const deliveryMethod = "POST";

/** The query of an endpoint may be its secret. Records and histories have this in its place. */
const maskedQuery = "?***";

/** A URL with `?***` in place of a query, and without user information. */
export function maskedUrl({ origin, pathname, search }: URL): string {
  return `${origin}${pathname}${search === "" ? "" : maskedQuery}`;
}

/** One row per signing scheme. A new scheme is a new row and a file of its own. */
export const schemes: Readonly<Record<SigningScheme, Scheme>> = {
  HmacV1: {
    sign: ({ keys, method = deliveryMethod, url, body }, { [timestampHeader]: timestamp }) => ({
      [signatureHeader]: hmacV1Signatures(keys, { timestamp, method, path: url.pathname, body }),
    }),
    verify: (keys, request, nowMs) => {
      const { method: received, target, body } = request;
      const signature = singleHeader(request, signatureHeader.toLowerCase());
      const timestamp = singleHeader(request, timestampHeader.toLowerCase());
      return verifyHmacV1(keys, { signature, timestamp, method: received, path: pathOf(target), body }, nowMs);
    },
    kept: [signatureHeader],
    coveredUrl: ({ pathname }) => pathname,
    signedText: ({ url: path, body }, { [timestampHeader]: timestamp, [signatureHeader]: signature = "" }) => ({
      headers: { [timestampHeader]: timestamp, [signatureHeader]: signature },
      text: Buffer.from(canonicalString({ timestamp, method: deliveryMethod, path, body })),
    }),
  },
  StandardWebhooks: {
    sign: ({ keys, ...attempt }) => standardWebhookHeaders(keys, attempt),
    verify: verifyStandardWebhooks,
    kept: ["webhook-signature"],
    coveredUrl: () => undefined,
    signedText: standardSignedText,
  },
  HttpMessageSignatures: {
    sign: ({ keys, method = deliveryMethod, url, body, sentAtMs }, headers) =>
      messageSignatureHeaders(keys, { method, url, headers, body, sentAtMs }),
    verify: verifyMessageSignature,
    kept: ["Signature-Input", "Signature", "X-Webhook-Producer"],
    coveredUrl: maskedUrl,
    signedText: ({ url: text, body }, headers) => {
      const url = URL.parse(text);
      if (url === null) return undefined;
      // Earlier versions recorded the query.
      const masked = new URL(maskedUrl(url));
      return messageSignedText({ method: deliveryMethod, url: masked, headers, body });
    },
  },
};
