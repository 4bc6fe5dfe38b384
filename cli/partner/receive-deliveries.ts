import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { SigningScheme } from "../../crds/signing-key.ts";
import { eventBytesMax } from "../../runtime/webhooks/events/envelope.ts";
import type { VerificationKey } from "../../runtime/webhooks/signing/keys.ts";
import type { IncomingRequest } from "../../runtime/webhooks/signing/verification-result.ts";
import { createOutput, type Output, type OutputFormat } from "../api/output.ts";
import { CommandError } from "../command-line/command-error.ts";
import type { Context } from "../command-line/command.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import { answerDelivery, lineOf } from "./answer-delivery.ts";
import type { KeySource } from "./partner-flags.ts";
import { readVerificationKeys } from "./read-keys.ts";

export interface ListenArguments {
  readonly port: number;
  readonly scheme: SigningScheme;
  /** Without a key, nothing is verified. */
  readonly keys: KeySource;
  readonly forward?: URL;
  readonly format: OutputFormat;
}

const host = "127.0.0.1";
/** An event and the attempt that the sender adds. */
const bodyBytesMax = eventBytesMax + 64;
const requestTimeoutMs = 30_000;
const connectionsMax = 100;

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
  const checks = keys.length === 0 ? "verifies nothing without --key-file" : `verifies ${args.scheme}`;
  process.stderr.write(`listening on http://${host}:${port}, ${checks}${forwards(args)}; Ctrl-C ends\n`);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM"), unread]);
  server.close();
  server.closeAllConnections();
  return "done";
}

function forwards({ forward }: ListenArguments): string {
  return forward === undefined ? "" : `, forwards to ${forward.origin}`;
}

async function listening(server: Server, port: number): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new CommandError("port", `the port ${port} cannot be opened: ${reason}; give another --port`, cause);
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
  const { answer, line } = await answerDelivery(request, keys, args);
  const { status, headers, body } = answer;
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
