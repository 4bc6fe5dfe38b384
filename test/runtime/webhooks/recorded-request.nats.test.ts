import { createServer } from "node:http";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AttemptRequest } from "../../../api/histories.ts";
import { webhookRoutes } from "../../../runtime/http/routes/webhooks.ts";
import { createPublicServer } from "../../../runtime/http/server/public-server.ts";
import type { Caller } from "../../../runtime/metrics/authorization/access.ts";
import { createLayout } from "../../../runtime/nats/layout.ts";
import { readAt } from "../../../runtime/nats/messages/stored-messages.ts";
import { listenOnLoopback, type Loopback } from "../../support/loopback.ts";
import { startNatsServer, type NatsServerHandle } from "../../support/nats-server.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../support/webhook-partner.ts";
import { configOf, eventBytes, partnerConfig, startEngine, testSettings, type TestEngine } from "./engine-fixture.ts";

const timeoutMs = 20_000;
const eventId = "evt-recorded";
/** What nothing that is stored, shown or logged may contain. */
const secrets = {
  "the signing key": "a signing key that is only in the Secret",
  "the client secret": "client-secret-that-is-only-in-the-secret",
  "the access token": "access-token-of-the-token-endpoint",
  "the fixed API key": "fixed-key-in-spite-of-the-documentation",
  "the query of the URL": "code-of-the-endpoint",
} as const;

let server: NatsServerHandle;
let recipient: WebhookPartnerServer;
let tokens: Loopback;
let engine: TestEngine;
let app: ReturnType<typeof createPublicServer>;

beforeAll(async () => {
  server = await startNatsServer();
  // Repeats the request in its response, as error pages of frameworks do.
  recipient = await startWebhookPartner(({ headers }) => ({ status: 404, body: JSON.stringify(headers) }));
  const issued = { access_token: secrets["the access token"], token_type: "Bearer", expires_in: 3_600 };
  tokens = await listenOnLoopback(
    createServer((request, response) => {
      request.resume().once("end", () => {
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(issued));
      });
    }),
  );
  const url = new URL(`/hook?code=${secrets["the query of the URL"]}`, recipient.url).href;
  const plain = partnerConfig("one", url);
  const endpoint = {
    ...plain.endpoint,
    headers: { "x-region": "eu", "x-api-key": secrets["the fixed API key"] },
    oauth2: {
      tokenUrl: `http://127.0.0.1:${tokens.port}/token`,
      clientId: "c",
      secret: "client",
      scopes: [],
      dpop: true,
    },
  } as const;
  const config = configOf({ ...plain, endpoint });
  const material = {
    ...config.material,
    "default/partner-key/secret": Buffer.from(secrets["the signing key"]).toString("base64"),
    client: Buffer.from(secrets["the client secret"]).toString("base64"),
  };
  engine = await startEngine(server.url, { ...config, material });
  app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: async (authorization) => JSON.parse(authorization ?? "") as Caller,
    routes: webhookRoutes(engine.engine),
  });
  await engine.ingest(eventBytes(eventId));
  await waitFor(async () => (await shown(admin)).deliveries[0]?.state === "rejected" || undefined, {
    timeoutMs,
    what: "the attempt",
  });
});
afterAll(async () => {
  await app?.close();
  await engine?.stop();
  await tokens?.close();
  await recipient?.close();
  await server?.stop();
});

const admin = { scopes: ["webhooks:read", "admin:debug"] };
const tenant = { scopes: ["webhooks:read"], tenants: ["acme"] };
const ofPartner = { scopes: ["webhooks:read"], partners: ["default/one"] };

interface Shown {
  readonly deliveries: readonly {
    readonly state: string;
    readonly attempts: readonly { readonly request?: AttemptRequest }[];
  }[];
}

async function get(path: string, claims: Partial<Caller>): Promise<string> {
  const everything = { client: "c", tenants: ["*"], regions: [], environments: [], metrics: [], roles: [] };
  const headers = { authorization: JSON.stringify({ ...everything, ...claims }) };
  return (await app.inject({ url: path, headers })).body;
}

async function shown(claims: Partial<Caller>): Promise<Shown> {
  return { deliveries: [], ...(JSON.parse(await get(`/webhooks/events/${eventId}`, claims)) as Partial<Shown>) };
}

async function requestFor(claims: Partial<Caller>): Promise<AttemptRequest> {
  const request = (await shown(claims)).deliveries[0]?.attempts[0]?.request;
  if (request === undefined) throw new Error("no request is shown");
  return request;
}

const valueOf = ({ headers }: AttemptRequest, name: string) =>
  headers.find((header) => header.name.toLowerCase() === name.toLowerCase());

describe("the request of an attempt", () => {
  test("is shown to administrators and to the partner with the headers that the endpoint received", async () => {
    const [received] = recipient.of(eventId);
    const own = new Set(["host", "connection", "content-length"]);
    const names = Object.keys(received?.headers ?? {}).filter((name) => !own.has(name));
    for (const claims of [admin, ofPartner]) {
      const request = await requestFor(claims);
      expect(request).toMatchObject({ method: "POST", url: new URL("/hook?***", recipient.url).href });
      expect(request.headers.map(({ name }) => name.toLowerCase()).toSorted()).toEqual(names.toSorted());
      for (const { name, value, value_reason: reason } of request.headers) {
        expect([name, value]).toEqual([name, reason === null ? received?.headers[name.toLowerCase()] : null]);
      }
      const hidden = request.headers.filter(({ value_reason: reason }) => reason === "secret");
      expect(hidden.map(({ name }) => name).toSorted()).toEqual(["Authorization", "DPoP", "x-api-key"]);
      expect(valueOf(request, "x-region")?.value).toBe("eu");
    }
  });

  test("is shown to a token of a tenant without the URL and without values of the endpoint", async () => {
    const request = await requestFor(tenant);
    expect(request.url).toBeNull();
    expect(valueOf(request, "x-region")).toEqual({ name: "x-region", value: null, value_reason: "partner_only" });
    expect(valueOf(request, "X-Event-Id")?.value).toBe(eventId);
    expect(JSON.stringify(request)).not.toMatch(/127\.0\.0\.1|\/hook|"eu"/u);
  });

  test.each(Object.keys(secrets) as (keyof typeof secrets)[])("stores, shows and logs nothing of %s", async (name) => {
    const wanted = secrets[name];
    const [received] = recipient.of(eventId);
    const proof = received?.headers["dpop"] ?? "";
    expect(proof).toMatch(/^ey/u);
    const layout = createLayout(testSettings.streams.prefix);
    const texts: string[] = [engine.lines.map(({ fields }) => JSON.stringify(fields)).join("\n")];
    for (const stream of Object.values(layout.streams)) texts.push(await everythingIn(stream));
    for (const claims of [admin, tenant, ofPartner]) {
      for (const path of [`/webhooks/events/${eventId}`, "/webhooks/events", "/webhooks/dead-letters"])
        texts.push(await get(path, claims));
    }
    const all = texts.join("\n");
    expect(all).toContain(`"sent":{"url":"`);
    expect(all).not.toContain(wanted);
    expect(all).not.toContain(Buffer.from(wanted).toString("base64"));
    expect(all).not.toContain(proof);
  });

  test("is not part of a dead letter", async () => {
    const { streams } = createLayout(testSettings.streams.prefix);
    const letter = await everythingIn(streams.deadLetters);
    expect(letter).toContain(eventId);
    expect(letter).not.toContain('"sent"');
  });
});

/** Bodies of all messages of a stream; of an absent one, nothing. */
async function everythingIn(stream: string): Promise<string> {
  const info = await engine.nats.manager.streams.info(stream).catch(() => undefined);
  const { first_seq: first = 1, last_seq: last = 0 } = info?.state ?? {};
  const texts: string[] = [];
  for (let seq = Math.max(first, 1); seq <= last; seq += 1) {
    const message = await readAt(engine.nats, stream, seq);
    if (message !== undefined) texts.push(Buffer.from(message.data).toString());
  }
  return texts.join("\n");
}
