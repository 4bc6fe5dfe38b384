import type { SigningScheme } from "../../../crds/signing-key.ts";
import { verifyHmacV1 } from "./hmac-v1.ts";
import type { VerificationKey } from "./keys.ts";
import { verifyMessageSignature } from "./message-signature.ts";
import { verifyStandardWebhooks } from "./standard-webhooks.ts";
import { pathOf, singleHeader, type IncomingRequest, type VerificationResult } from "./verification-result.ts";

type Verify = (keys: readonly VerificationKey[], request: IncomingRequest, nowMs: number) => VerificationResult;

/** One row per scheme. */
const schemes: Readonly<Record<SigningScheme, Verify>> = {
  HmacV1: (keys, request, nowMs) =>
    verifyHmacV1(
      keys,
      {
        signature: singleHeader(request, "x-signature"),
        timestamp: singleHeader(request, "x-timestamp"),
        method: request.method,
        path: pathOf(request.target),
        body: request.body,
      },
      nowMs,
    ),
  StandardWebhooks: verifyStandardWebhooks,
  HttpMessageSignatures: verifyMessageSignature,
};

/** Whether a request is signed, as its scheme has it, by a key that is in force. */
export function verifyRequest(
  scheme: SigningScheme,
  keys: readonly VerificationKey[],
  request: IncomingRequest,
  nowMs: number,
): VerificationResult {
  return schemes[scheme](keys, request, nowMs);
}
