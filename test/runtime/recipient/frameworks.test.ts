import { createServer, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import fastify from "fastify";
import { request } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { bearerCallers, deliveryBytesMax, type EndpointOptions } from "../../../runtime/recipient/endpoints.ts";
import { recipientPlugin } from "../../../runtime/recipient/fastify.ts";
import { createMemorySeenStore } from "../../../runtime/recipient/seen-store.ts";
import type { DeliveryReport } from "../../../runtime/recipient/receive.ts";
import { createRecipient } from "../../../runtime/recipient/recipient.ts";
import { createWebRecipient } from "../../../runtime/recipient/web.ts";
import { listenOnLoopback } from "../../support/loopback.ts";
import { event, secret, sentAtMs, signedDelivery } from "./signed-delivery.ts";

type Options = EndpointOptions<undefined>;

/** The part of Express that is used; the package has no types. */
interface ExpressApp extends RequestListener {
  use(...handlers: readonly unknown[]): void;
}
const express = createRequire(import.meta.url)("express") as (() => ExpressApp) & {
  readonly json: () => unknown;
  readonly raw: (options: object) => unknown;
};

const prefix = "/webhooks";
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

async function listen(listener: RequestListener): Promise<string> {
  const server = await listenOnLoopback(createServer(listener));
  closers.push(() => server.close());
  return `http://127.0.0.1:${server.port}`;
}

/** An Express app with the recipient behind what else it uses. */
async function startExpress(options: Options, ...before: readonly unknown[]): Promise<string> {
  const app = express();
  for (const handler of before) app.use(handler);
  app.use(prefix, createRecipient(options));
  return await listen(app);
}

async function startFastify(options: Options): Promise<string> {
  const app = fastify();
  closers.push(() => app.close());
  app.get("/other", async () => "other");
  await app.register(recipientPlugin(options), { prefix });
  return await app.listen({ port: 0, host: "127.0.0.1" });
}

/** A server that speaks the Fetch API, as the adapters of several frameworks do it. */
async function startWeb(options: Options): Promise<string> {
  const recipient = createWebRecipient(options);
  return await listen((incoming, outgoing) => {
    const { method = "", headers, url = "" } = incoming;
    const hasBody = method === "POST";
    const given = new Request(`http://${headers.host}${url}`, {
      method,
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" } : {}),
    });
    void recipient(given).then(async (answer) => {
      outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), connection: "close" });
      outgoing.end(Buffer.from(await answer.arrayBuffer()));
    });
  });
}

const servers = {
  "node:http": (options: Options) => listen(createRecipient(options)),
  Express: (options: Options) => startExpress(options),
  "Express behind a parser that keeps bytes": (options: Options) => startExpress(options, express.raw({ type: "*/*" })),
  Fastify: startFastify,
  "the Fetch API": startWeb,
};

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

async function send(url: string, method: string, headers: object = {}, body?: Uint8Array): Promise<Answer> {
  const response = await request(url, { method, headers: { ...headers }, ...(body === undefined ? {} : { body }) });
  const text = await response.body.text();
  return { status: response.statusCode, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

async function deliver(url: string, body: object | string = event, path = `${prefix}/v1/payout`): Promise<Answer> {
  const delivery = signedDelivery(body, { "content-type": "application/json" }, path);
  return await send(url + path, "POST", delivery.headers, delivery.body);
}

function bench(change: Partial<Options> = {}) {
  const handled: unknown[] = [];
  const reports: DeliveryReport[] = [];
  const options: Options = {
    keys: () => [{ id: "k1", secret }],
    store: createMemorySeenStore(),
    handle: async (delivered) => void handled.push(delivered),
    handlerVersion: "v1",
    report: (report) => reports.push(report),
    now: () => sentAtMs,
    mayReadStatus: bearerCallers(() => ["operator"]),
    ...change,
  };
  return { options, handled, reports };
}

const acknowledgement = { event_id: event.event_id, handled_at: "2026-01-02T04:00:00.000Z", note: "by hand" };

describe.each(Object.entries(servers))("a recipient on %s", (_, start) => {
  test("takes an event once and answers a repeat with 200 (Webhook Event Delivery §6)", async () => {
    const { options, handled, reports } = bench();
    const url = await start(options);
    const answers = [await deliver(url), await deliver(url)];
    expect(answers).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect(answers[0]?.headers["x-trace-id"]).toMatch(/^[\da-f]{32}$/u);
    expect(handled).toEqual([event]);
    expect(reports.map(({ outcome }) => outcome)).toEqual(["processed", "duplicate"]);
  });

  test("verifies the bytes as they came", async () => {
    const { options, handled } = bench();
    const url = await start(options);
    const text = JSON.stringify(event).replaceAll(",", " ,  ");
    expect(await deliver(url, text, `${prefix}/v1/p%C3%A4y%20out?route=1`)).toMatchObject({ status: 200 });
    expect(handled).toEqual([event]);
  });

  test("refuses a forged delivery without details (Webhook Event Delivery §7)", async () => {
    const { options, handled } = bench({ keys: () => [{ id: "k2", secret: Buffer.alloc(32) }] });
    const { status, headers, body } = await deliver(await start(options));
    expect({ status, body }).toEqual({
      status: 401,
      body: {
        error: "invalid_signature",
        error_description: "The signature or its timestamp is not valid",
        trace_id: headers["x-trace-id"],
      },
    });
    expect(headers["content-type"]).toMatch(/^application\/json/u);
    expect(handled).toEqual([]);
  });

  test("reads a body no further than its bound", async () => {
    const { options, reports } = bench();
    const url = await start(options);
    const body = Buffer.alloc(deliveryBytesMax + 1, "x");
    expect(await send(`${url}${prefix}/v1/payout`, "POST", {}, body)).toMatchObject({
      status: 413,
      body: { error: "body_too_large" },
    });
    expect(reports).toMatchObject([{ outcome: "refused", status: 413 }]);
  });

  test("gives the status of an event to known callers only (Webhook Event Delivery §4.3)", async () => {
    const url = await start(bench().options);
    await deliver(url);
    const status = `${url}${prefix}/status/${event.event_id}`;
    const known = { authorization: "Bearer operator" };
    expect(await send(status, "GET", known)).toMatchObject({
      status: 200,
      body: { seen: true, handler_version: "v1" },
    });
    expect(await send(`${url}${prefix}/status/other`, "GET", known)).toMatchObject({ body: { seen: false } });
    const path = `${prefix}/v1/payout`;
    const dots = signedDelivery({ ...event, event_id: ".." }, { "x-event-id": ".." }, path);
    await send(url + path, "POST", dots.headers, dots.body);
    const byParameter = `${url}${prefix}/status?event_id=..`;
    expect(await send(byParameter, "GET", known)).toMatchObject({ status: 200, body: { seen: true } });
    expect(await send(status, "GET")).toMatchObject({ status: 403, body: { error: "forbidden" } });
    expect(await send(status, "DELETE", known)).toMatchObject({ status: 405, headers: { allow: "GET" } });
  });

  test("has no status endpoint without a check of callers", async () => {
    const { mayReadStatus: _check, ...options } = bench().options;
    const url = await start(options);
    expect(await send(`${url}${prefix}/status/evt_1`, "GET")).toMatchObject({
      status: 404,
      body: { error: "not_found" },
    });
  });

  test("marks an event that the sender says was handled by hand (Webhook Event Delivery §4.3)", async () => {
    const acknowledged: unknown[] = [];
    const { options, handled, reports } = bench({ acknowledge: async (one) => void acknowledged.push(one) });
    const url = await start(options);
    const first = await deliver(url, acknowledgement, `${prefix}/ack`);
    const answers = [first, await deliver(url, acknowledgement, `${prefix}/ack`), await deliver(url)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect([acknowledged, handled]).toEqual([[acknowledgement], []]);
    expect(reports.map(({ outcome }) => outcome)).toEqual(["acknowledged", "duplicate", "duplicate"]);
  });

  test.each([
    ["a delivery at the endpoint of acknowledgements", event, `${prefix}/ack`],
    ["an acknowledgement at the endpoint of deliveries", acknowledgement, `${prefix}/v1/payout`],
  ])("refuses %s, since some schemes do not sign the path", async (__, body, path) => {
    expect(await deliver(await start(bench().options), body, path)).toMatchObject({ status: 400 });
  });

  test("consents to deliveries when a sender asks (CloudEvents web hooks §4.2)", async () => {
    const { options, reports } = bench();
    const url = `${await start(options)}${prefix}/v1/payout`;
    expect(await send(url, "OPTIONS", { "webhook-request-origin": "sender.example" })).toMatchObject({
      status: 200,
      headers: { "webhook-allowed-origin": "*", "webhook-allowed-rate": "*" },
    });
    expect(await send(url, "OPTIONS")).toMatchObject({ status: 404 });
    expect(reports).toEqual([]);
  });

  test("answers 429 beyond its bound of requests at once", async () => {
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const handle = async (): Promise<void> => {
      entered.resolve();
      await gate.promise;
    };
    const { options, reports } = bench({ handle, inFlightMax: 1 });
    const url = await start(options);
    const first = deliver(url);
    await entered.promise;
    expect(await deliver(url)).toMatchObject({
      status: 429,
      headers: { "retry-after": "1" },
      body: { error: "too_many_requests" },
    });
    gate.resolve();
    expect(await first).toMatchObject({ status: 200 });
    expect(reports.map(({ status }) => status)).toEqual([429, 200]);
  });
});

describe("a recipient behind a body parser", () => {
  test("answers 500 and reports what to do, since the signed bytes are gone", async () => {
    const { options, reports } = bench();
    expect(await deliver(await startExpress(options, express.json()))).toMatchObject({ status: 500 });
    expect(reports).toMatchObject([
      { outcome: "failed", error: { message: expect.stringContaining("mount") as string } },
    ]);
  });

  test("does so for a Request that was read before", async () => {
    const { options, reports } = bench();
    const read = new Request("http://127.0.0.1/webhooks/v1/payout", { method: "POST", body: "{}" });
    await read.text();
    expect((await createWebRecipient(options)(read)).status).toBe(500);
    expect(reports).toMatchObject([{ outcome: "failed" }]);
  });
});

describe("the Fastify plugin", () => {
  test("leaves the parsers and routes of the rest of the app as they are", async () => {
    const url = await startFastify(bench().options);
    expect((await request(`${url}/other`)).statusCode).toBe(200);
  });
});

describe("bearerCallers", () => {
  const isKnown = bearerCallers(() => ["alpha", "", "beta"]);
  test.each([
    ["the first token", "Bearer alpha", true],
    ["another token in another case of the scheme", "bearer beta", true],
    ["an unknown token", "Bearer alph", false],
    ["an empty token", "Bearer ", false],
    ["another scheme", "Basic alpha", false],
    ["no header", undefined, false],
  ])("takes %s for known: %s is %s", (_, authorization, known) => {
    expect(isKnown({ headers: { authorization } })).toBe(known);
  });
});
