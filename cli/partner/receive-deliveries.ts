import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { SigningScheme } from "../../crds/signing-key.ts";
import { verifyDelivery } from "../../runtime/recipient/verify-delivery.ts";
import { eventBytesMax } from "../../runtime/webhooks/events/envelope.ts";
import type { VerificationKey } from "../../runtime/webhooks/signing/keys.ts";
import { type IncomingRequest, singleHeader } from "../../runtime/webhooks/signing/verification-result.ts";
import { createOutput, type Output, type OutputFormat } from "../api/output.ts";
import { CommandError, type Context, type ExitName } from "../command-line/command.ts";
import { plain, say } from "../command-line/terminal.ts";
import { faultSentences } from "./faults.ts";
import type { KeySource } from "./partner-flags.ts";
import { postOnce } from "./post-once.ts";
import { readVerificationKeys } from "./read-keys.ts";

export interface ListenArguments {
  readonly port: number;
  readonly scheme: SigningScheme;
  /** Without a key, nothing is verified. */
  readonly keys: KeySource;
  readonly forward: URL | undefined;
  readonly format: OutputFormat;
}

const host = "127.0.0.1";
/** An event and the attempt that the sender adds. */
const bodyBytesMax = eventBytesMax + 64;
const requestTimeoutMs = 30_000;
const connectionsMax = 100;

/** One received delivery; the form of `-o json`. */
interface DeliveryLine {
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
interface ReceiverReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

type Checked = Pick<DeliveryLine, "result" | "key">;

interface HandledDelivery {
  readonly reply: ReceiverReply;
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

/** `heliograph listen`: an endpoint on this machine until a signal. @throws CommandError `port` */
export async function receiveDeliveries(args: ListenArguments, { environment }: Context): Promise<ExitName> {
  const keys = await readVerificationKeys(args.keys, args.scheme);
  const output = createOutput(args.format, environment);
  const { promise: unread, resolve: onUnread } = Promise.withResolvers<void>();
  const server = createServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
    void take(request, response, { keys, args, output }).then((isRead) => (isRead ? undefined : onUnread()));
  });
  server.maxConnections = connectionsMax;
  const port = await listening(server, args.port);
  const checks = keys.length === 0 ? "verifying nothing without --key-file" : `verifying ${args.scheme}`;
  process.stderr.write(`listening on http://${host}:${port}, ${checks}${forwards(args)}; press Ctrl-C to stop\n`);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM"), unread]);
  server.close();
  server.closeAllConnections();
  return "done";
}

function forwards({ forward }: ListenArguments): string {
  return forward === undefined ? "" : `, forwarding to ${forward.origin}`;
}

async function listening(server: Server, port: number): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new CommandError("port", `the port ${port} cannot be opened: ${reason}; choose another --port`, cause);
  }
}

/** What every request needs. */
interface Listening {
  readonly keys: readonly VerificationKey[];
  readonly args: ListenArguments;
  readonly output: Output;
}

/** @returns false when the reader of the output is gone, as after `| head` */
async function take(
  message: IncomingMessage,
  response: ServerResponse,
  { keys, args, output }: Listening,
): Promise<boolean> {
  const startedAtMs = performance.now();
  const request = await received(message).catch(() => undefined);
  if (request === undefined) {
    response.writeHead(413, { Connection: "close" }).end();
    return true;
  }
  const { reply, line } = await handleDelivery(request, keys, args);
  const { status, headers, body } = reply;
  response.writeHead(status, headers).end(body);
  const printed = { ...line, duration_ms: Math.round(performance.now() - startedAtMs) };
  return output.one(printed, () => lineOf(printed));
}

/** @throws Error when the body is too large, or the sender hangs up */
async function received(message: IncomingMessage): Promise<IncomingRequest> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bodyBytesMax) throw new Error("the body is too large");
    chunks.push(chunk);
  }
  const { method = "", url: target = "", headers } = message;
  return { method, target, headers, body: Buffer.concat(chunks) };
}

/** Verifies a delivery and forwards it if it is valid. The response is that of the endpoint behind, else 200. */
async function handleDelivery(
  request: IncomingRequest,
  keys: readonly VerificationKey[],
  { scheme, forward }: ListenArguments,
): Promise<HandledDelivery> {
  const at = new Date();
  const checked = check(request, keys, scheme, at.getTime());
  const reply = await replyOf(request, checked, forward);
  const { method, target: path } = request;
  const attempt = singleHeader(request, "x-attempt") ?? null;
  const line = { at: at.toISOString(), method, path, ...eventFields(request.body), attempt, ...checked };
  return { reply, line: { ...line, status: reply.status } };
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

async function replyOf(
  request: IncomingRequest,
  { result }: Checked,
  forward: URL | undefined,
): Promise<ReceiverReply> {
  if (result === "body_malformed" || result === "event_id_differs") return rejection(400, "invalid_event");
  if (result !== "valid" && result !== "unverified") return rejection(401, "invalid_signature");
  if (request.method !== "POST") return rejection(405, "method_not_allowed");
  return forward === undefined ? { status: 200, headers: {}, body: "" } : forwarded(request, forward);
}

function rejection(status: number, error: string): ReceiverReply {
  const body = JSON.stringify({ error, error_description: "Rejected by heliograph listen" });
  return { status, headers: { "Content-Type": "application/json" }, body };
}

async function forwarded(request: IncomingRequest, forward: URL): Promise<ReceiverReply> {
  const kept = Object.entries(request.headers).filter(([name, value]) => value !== undefined && !hopHeaders.has(name));
  const headers = Object.fromEntries(kept) as Record<string, string>;
  try {
    const response = await postOnce(new URL(forward.origin + request.target), headers, request.body);
    const returned = Object.entries(response.headers).filter(([name]) => !hopHeaders.has(name));
    return { status: response.status, headers: Object.fromEntries(returned), body: response.bytes };
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return rejection(502, "forward_unreachable");
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
function lineOf(line: DeliveryLine): string {
  const { at, event_id: eventId, type, attempt, result, key, status, duration_ms: durationMs } = line;
  const checked = key === null ? result : `${result} (${key})`;
  const sentence = result in faultSentences ? `: ${faultSentences[result as keyof typeof faultSentences]}` : "";
  const words = [at, eventId ?? "-", type ?? "-", `attempt ${attempt ?? "-"}`, checked, status, `in ${durationMs} ms`];
  return plain(`${words.join(" ")}${sentence}`);
}
