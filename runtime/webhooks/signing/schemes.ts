// Signing: signature schemes and their headers, for the sender and for recipients. It does not store keys.
import type { SigningScheme } from "../../../crds/signing-key.ts";
import { hmacV1Signatures, verifyHmacV1 } from "./hmac-v1.ts";
import type { SigningKey, VerificationKey } from "./keys.ts";
import { messageSignatureHeaders, verifyMessageSignature } from "./message-signature.ts";
import { standardWebhookHeaders, verifyStandardWebhooks } from "./standard-webhooks.ts";
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

/** Headers that every attempt of every scheme has. */
export type AttemptHeaders = Headers & { readonly [timestampHeader]: string };

/** How one signing scheme signs an attempt and verifies a request. */
interface Scheme {
  /** Headers that the scheme adds. */
  readonly sign: (attempt: AttemptToSign, headers: AttemptHeaders) => Headers;
  /** Checks whether a key that is in force signed the request. */
  readonly verify: (keys: readonly VerificationKey[], request: IncomingRequest, nowMs: number) => VerificationResult;
}

const deliveryMethod = "POST";

/** One row per signing scheme. A new scheme is a new row and a file of its own. */
export const schemes: Readonly<Record<SigningScheme, Scheme>> = {
  HmacV1: {
    sign: ({ keys, method = deliveryMethod, url, body }, { [timestampHeader]: timestamp }) => ({
      "X-Signature": hmacV1Signatures(keys, { timestamp, method, path: url.pathname, body }),
    }),
    verify: (keys, request, nowMs) => {
      const { method: received, target, body } = request;
      const signature = singleHeader(request, "x-signature");
      const timestamp = singleHeader(request, timestampHeader.toLowerCase());
      return verifyHmacV1(keys, { signature, timestamp, method: received, path: pathOf(target), body }, nowMs);
    },
  },
  StandardWebhooks: {
    sign: ({ keys, ...attempt }) => standardWebhookHeaders(keys, attempt),
    verify: verifyStandardWebhooks,
  },
  HttpMessageSignatures: {
    sign: ({ keys, method = deliveryMethod, url, body, sentAtMs }, headers) =>
      messageSignatureHeaders(keys, { method, url, headers, body, sentAtMs }),
    verify: verifyMessageSignature,
  },
};
