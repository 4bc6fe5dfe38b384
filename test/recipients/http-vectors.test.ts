import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";
import { bearerCallers } from "../../runtime/recipient/endpoints.ts";
import { sharedKey } from "../../runtime/recipient/verify-delivery.ts";
import { createMemorySeenStore } from "../../runtime/recipient/seen-store.ts";
import { createRecipient } from "../../runtime/recipient/recipient.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { httpVectors, keyVectors, type HttpVector } from "./http-rows.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** Starts an endpoint for a case; its effects are gathered in a list. */
async function start({ scheme, now, secrets, public_keys: publicKeys = [] }: HttpVector) {
  const effects: string[] = [];
  const nowMs = Date.parse(now);
  const shared = secrets.map(({ id, key }) => ({ id, secret: Buffer.from(key, "base64") }));
  const known = publicKeys.map(({ id, jwk }) => ({
    id,
    publicKey: createPublicKey({ key: jwk as JsonWebKey, format: "jwk" }),
  }));
  const handler = createRecipient({
    scheme,
    keys: () => [...shared, ...known],
    store: createMemorySeenStore({ now: () => nowMs }),
    handle: async ({ event_id: eventId }) => void effects.push(eventId),
    handlerVersion: "1",
    now: () => nowMs,
    mayReadStatus: bearerCallers(() => ["operator"]),
  });
  const server = await listenOnLoopback(createServer(handler));
  closers.push(() => server.close());
  return { effects, port: server.port };
}

async function exchange(port: number, request: string) {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(request);
  const [head = "", body = ""] = (await buffer(socket)).toString("latin1").split("\r\n\r\n");
  const [line = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(lines.map((one) => [one.split(":")[0]?.toLowerCase(), one.split(": ")[1]]));
  return {
    status: Number(line.split(" ")[1]),
    headers,
    body: body.startsWith("{") ? (JSON.parse(body) as object) : {},
  };
}

test.each(httpVectors.map((vector) => [vector.name, vector] as const))(
  "%s has its responses in Node",
  async (_, vector) => {
    const { effects, port } = await start(vector);
    for (const { request, status, headers = {}, body = {} } of vector.exchanges)
      expect(await exchange(port, request)).toMatchObject({ status, headers, body });
    expect(effects).toEqual(vector.effects);
  },
);

describe("a published text of a key", () => {
  test.each(keyVectors.map(({ text, key }) => [text, key] as const))("%j is %s in Node", (text, key) => {
    expect(keyOf(text)).toBe(key);
  });
});

/** The bytes of a text of a key in base64; null for a rejected text. */
function keyOf(text: string): string | null {
  try {
    const found = sharedKey("k", text, "StandardWebhooks");
    return "secret" in found ? (found.secret as KeyObject).export().toString("base64") : "a public key";
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
