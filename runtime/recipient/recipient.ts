// Receives deliveries in the program of a partner. The runtime does not use it.
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { pathOf } from "../webhooks/signing/verification-result.ts";
import {
  DeliveryRefusal,
  errorAnswer,
  receive,
  traceIdOf,
  type RecipientAnswer,
  type RecipientOptions,
} from "./receive.ts";
import type { SeenRecord } from "./seen-store.ts";

/** Largest request body, in bytes: an event of 256 KiB and the attempt that the sender adds. */
export const deliveryBytesMax = 262_208;

const statusPath = /^\/webhooks\/status\/(?<eventId>[^/]+)$/u;

/**
 * A `node:http` request handler for a recipient. Any POST is a delivery; `GET /webhooks/status/:event_id` returns the
 * outcome of an event. Mount it where deliveries arrive. The path must be unchanged, since the signature covers it.
 * Source: seed "Webhook Event Delivery" §4.1 and §4.3.
 */
export function createRecipient<Transaction>(options: RecipientOptions<Transaction>): RequestListener {
  return (request, response) => {
    void answer(request, options).then((given) => write(response, given));
  };
}

async function answer<Transaction>(
  request: IncomingMessage,
  options: RecipientOptions<Transaction>,
): Promise<RecipientAnswer> {
  const traceId = traceIdOf(request);
  try {
    return await route(request, options, traceId);
  } catch (error) {
    const refusal = error instanceof DeliveryRefusal ? error : new DeliveryRefusal(500, "internal_error", "Failed");
    return errorAnswer(refusal, traceId);
  }
}

async function route<Transaction>(
  request: IncomingMessage,
  options: RecipientOptions<Transaction>,
  traceId: string,
): Promise<RecipientAnswer> {
  const { method = "", url: target = "", headers } = request;
  if (method === "POST") {
    return await receive({ method, target, headers, body: await readBody(request) }, options);
  }
  const eventId = statusPath.exec(pathOf(target))?.groups?.["eventId"];
  if (eventId === undefined) {
    throw new DeliveryRefusal(404, "not_found", "No endpoint has this path");
  }
  if (method !== "GET") {
    throw new DeliveryRefusal(405, "method_not_allowed", "The status of an event is read with GET");
  }
  const record = await options.store.find(decoded(eventId));
  return { status: 200, headers: { "X-Trace-Id": traceId }, body: statusBody(record) };
}

function decoded(eventId: string): string {
  try {
    return decodeURIComponent(eventId);
  } catch {
    throw new DeliveryRefusal(400, "invalid_event_id", "The event id in the path is not valid percent-encoding");
  }
}

/** Source: seed "Webhook Event Delivery" §2.3. An event that failed was processed, but is not seen. */
function statusBody(record: SeenRecord | undefined): object {
  if (record === undefined) {
    return { seen: false };
  }
  return {
    seen: record.status === "ok",
    processed_at: new Date(record.processedAtMs).toISOString(),
    handler_version: record.handlerVersion,
  };
}

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > deliveryBytesMax) {
      throw new DeliveryRefusal(413, "body_too_large", `The body of a delivery has at most ${deliveryBytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function write(response: ServerResponse, { status, headers, body }: RecipientAnswer): void {
  const text = body === undefined ? "" : JSON.stringify(body);
  const contentType = body === undefined ? {} : { "Content-Type": "application/json" };
  // The unread rest of a request would be parsed as the next one.
  const connection = response.req.complete ? {} : { Connection: "close" };
  response.writeHead(status, { ...headers, ...contentType, ...connection, "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}
