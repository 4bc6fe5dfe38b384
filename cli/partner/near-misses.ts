import { verifyHmacV1, type ReceivedParts } from "../../runtime/webhooks/signing/hmac-v1.ts";
import type { VerificationKey } from "../../runtime/webhooks/signing/keys.ts";
import { pathOf, singleHeader, type IncomingRequest } from "../../runtime/webhooks/signing/verification-result.ts";

/** What was verified. */
interface Trial {
  readonly keys: readonly VerificationKey[];
  readonly parts: ReceivedParts;
}

const lineFeed = 10;

/** Common faults, each as the change that repairs it and the sentence about it. */
const repairs: readonly (readonly [sentence: string, change: (trial: Trial) => Trial])[] = [
  [
    "it is valid with the key without the line feed at its end; write the file without one, as printf does",
    (trial) => ({ ...trial, keys: trial.keys.map(withoutLineFeed) }),
  ],
  [
    "it is valid with the body without the line feed at its end; keep the bytes as they were received",
    withBody((body) => (body.at(-1) === lineFeed ? body.subarray(0, -1) : body)),
  ],
  [
    "it is valid with a line feed after the body; keep the bytes as they were received",
    withBody((body) => Buffer.concat([body, Buffer.from("\n")])),
  ],
  [
    "it is valid with the same JSON without blanks; verify the bytes before a framework parses them",
    withBody((body) => Buffer.from(JSON.stringify(JSON.parse(Buffer.from(body).toString())))),
  ],
  ["it is valid for the method POST", (trial) => ({ ...trial, parts: { ...trial.parts, method: "POST" } })],
];

/** Sentences about changes with which the signature of a HmacV1 delivery is valid. */
export function nearMisses(
  request: IncomingRequest,
  keys: readonly VerificationKey[],
  nowMs: number,
): readonly string[] {
  const parts = {
    signature: singleHeader(request, "x-signature"),
    timestamp: singleHeader(request, "x-timestamp"),
    method: request.method,
    path: pathOf(request.target),
    body: request.body,
  };
  return repairs.flatMap(([sentence, change]) => (isRepaired({ keys, parts }, change, nowMs) ? [sentence] : []));
}

function isRepaired(trial: Trial, change: (trial: Trial) => Trial, nowMs: number): boolean {
  try {
    const { keys, parts } = change(trial);
    return verifyHmacV1(keys, parts, nowMs).ok;
  } catch {
    // The body is not JSON.
    return false;
  }
}

function withBody(change: (body: Uint8Array) => Uint8Array): (trial: Trial) => Trial {
  return (trial) => ({ ...trial, parts: { ...trial.parts, body: change(trial.parts.body) } });
}

function withoutLineFeed(key: VerificationKey): VerificationKey {
  if (!("secret" in key) || !(key.secret instanceof Uint8Array) || key.secret.at(-1) !== lineFeed) return key;
  return { ...key, secret: key.secret.subarray(0, -1) };
}
