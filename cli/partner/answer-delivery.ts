import type { SigningScheme } from "../../crds/signing-key.ts";
import { verifyDelivery } from "../../runtime/recipient/verify-delivery.ts";
import type { VerificationKey } from "../../runtime/webhooks/signing/keys.ts";
import { singleHeader, type IncomingRequest } from "../../runtime/webhooks/signing/verification-result.ts";
import { plain } from "../command-line/plain.ts";
import { say } from "../api/terminal.ts";
import { faultSentences } from "./faults.ts";
import { postOnce } from "./post-once.ts";

/** One received delivery; the form of `-o json`. */
export interface DeliveryLine {
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly event_id: string | null;
  readonly type: string | null;
  readonly attempt: string | null;
  /** `valid`, `unverified` without a key, or the fault. */
  readonly result: string;
  /** Id of the key that signed. */
  readonly key: string | null;
  readonly status: number;
  readonly duration_ms: number;
}

/** The response to one delivery. */
interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

type Checked = Pick<DeliveryLine, "result" | "key">;

interface Answered {
  readonly answer: Answer;
  readonly line: Omit<DeliveryLine, "duration_ms">;
}

/** Headers of one connection. Source: RFC 9110 §7.6.1. */
const hopHeaders = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const textFields = ["event_id", "type"] as const;

/** Verifies a delivery and forwards it if it is valid. The answer is that of the endpoint behind, else 200. */
export async function answerDelivery(
  request: IncomingRequest,
  keys: readonly VerificationKey[],
  { scheme, forward }: { readonly scheme: SigningScheme; readonly forward?: URL },
): Promise<Answered> {
  const at = new Date();
  const checked = check(request, keys, scheme, at.getTime());
  const answer = await answerOf(request, checked, forward);
  const { method, target: path } = request;
  const attempt = singleHeader(request, "x-attempt") ?? null;
  const line = { at: at.toISOString(), method, path, ...eventFields(request.body), attempt, ...checked };
  return { answer, line: { ...line, status: answer.status } };
}

function check(
  request: IncomingRequest,
  keys: readonly VerificationKey[],
  scheme: SigningScheme,
  nowMs: number,
): Checked {
  if (keys.length === 0) return { result: "unverified", key: null };
  const result = verifyDelivery(request, keys, nowMs, scheme);
  return result.ok ? { result: "valid", key: result.keyId } : { result: result.fault, key: null };
}

async function answerOf(request: IncomingRequest, { result }: Checked, forward: URL | undefined): Promise<Answer> {
  if (result === "body_malformed" || result === "event_id_differs") return refusal(400, "invalid_event");
  if (result !== "valid" && result !== "unverified") return refusal(401, "invalid_signature");
  if (request.method !== "POST") return refusal(405, "method_not_allowed");
  return forward === undefined ? { status: 200, headers: {}, body: "" } : forwarded(request, forward);
}

function refusal(status: number, error: string): Answer {
  const body = JSON.stringify({ error, error_description: "Refused by heliograph listen" });
  return { status, headers: { "Content-Type": "application/json" }, body };
}

async function forwarded(request: IncomingRequest, forward: URL): Promise<Answer> {
  const kept = Object.entries(request.headers).filter(([name, value]) => value !== undefined && !hopHeaders.has(name));
  const headers = Object.fromEntries(kept) as Record<string, string>;
  try {
    const response = await postOnce(new URL(forward.origin + request.target), headers, request.body);
    const answered = Object.entries(response.headers).filter(([name]) => !hopHeaders.has(name));
    return { status: response.status, headers: Object.fromEntries(answered), body: response.bytes };
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return refusal(502, "forward_unreachable");
  }
}

function eventFields(body: Uint8Array): Pick<DeliveryLine, "event_id" | "type"> {
  let event: Readonly<Record<string, unknown>> = {};
  try {
    event = (JSON.parse(Buffer.from(body).toString()) as typeof event | null) ?? {};
  } catch {
    // What is no JSON has no fields.
  }
  const [eventId, type] = textFields.map((name) => (typeof event[name] === "string" ? event[name] : null));
  return { event_id: eventId ?? null, type: type ?? null };
}

/** The line of a delivery for people. */
export function lineOf(line: DeliveryLine): string {
  const { at, event_id: eventId, type, attempt, result, key, status, duration_ms: durationMs } = line;
  const checked = key === null ? result : `${result} (${key})`;
  const sentence = result in faultSentences ? `: ${faultSentences[result as keyof typeof faultSentences]}` : "";
  const words = [at, eventId ?? "-", type ?? "-", `attempt ${attempt ?? "-"}`, checked, status, `in ${durationMs} ms`];
  return plain(`${words.join(" ")}${sentence}`);
}
