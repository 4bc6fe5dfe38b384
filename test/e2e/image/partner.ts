import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/**
 * A partner that checks signatures by itself and reports its deliveries; beside it a metric for the store to scrape.
 * `KEYS` lists `id=key`, separated by commas. Source: seed "Webhook Event Delivery" §5.
 */
interface Received {
  /** How often each event came, signed by a known key. */
  readonly events: Record<string, number>;
  /** Events by the key that signed them. */
  readonly byKey: Record<string, number>;
  readonly byPath: Record<string, number>;
  /** The data of each event that came to the path that keeps it. */
  readonly kept: Record<string, unknown>;
  readonly badSignatures: number;
}

const port = 8080;
const bodyBytesMax = 1024 * 1024;
/** Loads come to other paths: their data would be too much. */
const keptPath = "/webhooks/kept/";
const keys = (process.env["KEYS"] ?? "").split(",").map((pair) => pair.split("=") as [string, string]);
const keysById = new Map(keys);
const received = {
  events: {} as Record<string, number>,
  byKey: {} as Record<string, number>,
  byPath: {} as Record<string, number>,
  kept: {} as Record<string, unknown>,
  badSignatures: 0,
} satisfies Received;

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new Error("too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The id of the key that signed the request; undefined when none did. */
function signer({ headers, method = "", url = "" }: IncomingMessage, body: Buffer): string | undefined {
  const hash = createHash("sha256").update(body).digest("hex");
  const canonical = [headers["x-timestamp"], method, url, hash].join("\n");
  const given = Buffer.from(String(headers["x-signature"]));
  const fits = ([, key]: readonly [string, string]): boolean => {
    const expected = Buffer.from(`v1=${createHmac("sha256", key).update(canonical).digest("base64")}`);
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  // With a thousand keys, the path names the one to try.
  const id = url.split("/").at(-1) ?? "";
  const named = keysById.get(id);
  return named === undefined ? keys.find(fits)?.[0] : fits([id, named]) ? id : undefined;
}

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bodyOf(request);
  const key = signer(request, body);
  const { event_id: id, data } = JSON.parse(body.toString()) as { readonly event_id: string; readonly data: unknown };
  if (key === undefined || request.headers["x-event-id"] !== id) {
    received.badSignatures += 1;
    response.writeHead(401).end();
    return;
  }
  received.byKey[key] = (received.byKey[key] ?? 0) + 1;
  const { url: path = "" } = request;
  received.byPath[path] = (received.byPath[path] ?? 0) + 1;
  received.events[id] = (received.events[id] ?? 0) + 1;
  if (path.startsWith(keptPath)) received.kept[id] = data;
  response.writeHead(200).end();
}

const labels = 'region="eu",tenant="lumen",environment="test"';
const gauges = [
  `e2e_temperature{${labels}} 21.5`,
  `e2e_backlog{${labels},component="intake"} 7`,
  `e2e_backlog{${labels},component="sender"} 2`,
  "",
].join("\n");

createServer((request, response) => {
  if (request.method === "POST") take(request, response).catch(() => response.writeHead(400).end());
  else if (request.url === "/metrics")
    response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(gauges);
  else if (request.url === "/received") response.end(JSON.stringify(received));
  else response.writeHead(request.url === "/ready" ? 200 : 404).end();
}).listen(port);
process.on("SIGTERM", () => process.exit(0));
