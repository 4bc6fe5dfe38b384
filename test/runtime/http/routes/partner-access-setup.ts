import { pino } from "pino";
import type { PartnerConfig, RuntimeConfig } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { webhookRoutes } from "../../../../runtime/http/routes/webhooks.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { waitFor } from "../../../support/wait.ts";
import {
  type ReceivedDelivery,
  startWebhookPartner,
  type WebhookPartnerServer,
} from "../../../support/webhook-partner.ts";
import {
  configOf,
  eventBytes,
  partnerConfig,
  startEngine,
  streamsOf,
  type TestEngine,
} from "../../webhooks/engine-fixture.ts";

/** What a token of a test says. */
export interface Claims {
  readonly client?: string;
  readonly tenants: readonly string[];
  readonly partners?: readonly string[];
  readonly scopes?: readonly string[];
}

export interface Asked {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
}

/** A response without the parts that differ from request to request. */
export interface ShownResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Stored {
  readonly id: string;
  readonly tenant: string;
  readonly type: string;
}

/** Four partners, three tenants, and what an engine with the real routes makes of their events. */
export interface PartnerAccessSetup {
  readonly engine: TestEngine;
  readonly config: RuntimeConfig;
  readonly recipient: WebhookPartnerServer;
  readonly events: readonly Stored[];
  /** Partners that want an event, by `namespace/name`. */
  wanting(event: Stored): readonly string[];
  ask(claims: Claims, asked: Asked): Promise<ShownResponse>;
  close(): Promise<void>;
}

export const tenants = ["acme", "vega", "luna"] as const;
export const types = ["payout.done", "refund.made"] as const;
const timeoutMs = 30_000;

interface PartnerRow {
  readonly types: readonly string[];
  readonly tenants: readonly string[];
  /** What the partner answers. */
  readonly status: number;
}

/** By `namespace/name`. None wants the events that the product makes about deliveries: these come at any time. */
export const partnerRows: Readonly<Record<string, PartnerRow>> = {
  "shop/one": { types: ["payout.*"], tenants: ["*"], status: 404 },
  "shop/two": { types: ["payout.*", "refund.*"], tenants: ["acme"], status: 200 },
  "bank/one": { types: ["payout.*"], tenants: ["vega"], status: 422 },
  "bank/two": { types: ["refund.made"], tenants: ["*"], status: 200 },
};

/** Sends two events of each tenant and type, and waits until every delivery has ended. */
export async function startSetup(servers: string): Promise<PartnerAccessSetup> {
  const recipient = await startWebhookPartner((delivery) => ({
    status: partnerRows[partnerOf(delivery)]?.status ?? 500,
  }));
  const config = configOf(...Object.keys(partnerRows).map((label) => configured(label, recipient.url)));
  const engine = await startEngine(servers, config, { settings: streamsOf("pa") });
  const events = tenants.flatMap((tenant) =>
    types.flatMap((type) => [1, 2].map((count) => ({ id: `${tenant}-${type}-${count}`, tenant, type }))),
  );
  for (const { id, tenant, type } of events) await engine.ingest(eventBytes(id, { tenant, type }));
  const app = appOf(engine);
  const setup: PartnerAccessSetup = {
    engine,
    config,
    recipient,
    events,
    wanting: ({ tenant, type }) => Object.keys(partnerRows).filter((label) => wants(label, tenant, type)),
    ask: (claims, asked) => askApp(app, claims, asked),
    close: async () => {
      await app.close();
      await engine.stop();
      await recipient.close();
    },
  };
  await untilSettled(setup);
  return setup;
}

/** Which partner a request went to. */
export function partnerOf({ path }: ReceivedDelivery): string {
  return path.split("/").slice(1, 3).join("/");
}

function wants(label: string, tenant: string, type: string): boolean {
  const row = partnerRows[label];
  const isTenant = row?.tenants.some((name) => name === "*" || name === tenant) ?? false;
  return isTenant && (row?.types.some((pattern) => pattern === type || pattern === `${type.split(".")[0]}.*`) ?? false);
}

function configured(label: string, url: string): PartnerConfig {
  const [namespace = "", name = ""] = label.split("/");
  const { types: wanted = [], tenants: whose = [] } = partnerRows[label] ?? {};
  const subscriptions = [{ name: "all", types: wanted, tenants: whose, producers: [] }];
  const uid = `uid-of-${namespace}-${name}`;
  const own = new URL(`/${label}/v1`, url).href;
  return { ...partnerConfig(name, own, { subscriptions, uid }), namespace };
}

/** Tokens of these tests are their claims. */
function appOf({ engine }: TestEngine): ReturnType<typeof createPublicServer> {
  return createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: async (authorization) => {
      if (authorization === undefined) throw new ApiError("token_missing", "Send a token.");
      return JSON.parse(Buffer.from(authorization.replace("Bearer ", ""), "base64url").toString()) as Caller;
    },
    routes: webhookRoutes(engine),
  });
}

const everyScope = ["webhooks:read", "webhooks:replay", "webhooks:ack", "admin:debug"];

async function askApp(
  app: ReturnType<typeof createPublicServer>,
  claims: Claims,
  { method = "GET", path, body, key }: Asked,
): Promise<ShownResponse> {
  const caller: Caller = {
    client: "c",
    scopes: everyScope,
    regions: ["*"],
    environments: ["*"],
    metrics: ["*"],
    roles: [],
    ...claims,
  };
  const response = await app.inject({
    method,
    url: path,
    headers: {
      authorization: `Bearer ${Buffer.from(JSON.stringify(caller)).toString("base64url")}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
  });
  const { correlation_id: _id, ...rest } = response.json<Record<string, unknown>>();
  return { status: response.statusCode, body: rest };
}

async function untilSettled(setup: PartnerAccessSetup): Promise<void> {
  const isSettled = async (event: Stored): Promise<boolean> => {
    const history = await setup.engine.engine.history.event(event.id, ["*"]);
    const ended = history?.deliveries.filter(({ state }) => state !== "in_delivery") ?? [];
    return ended.length === setup.wanting(event).length;
  };
  const look = async () => (await Promise.all(setup.events.map(isSettled))).every(Boolean) || undefined;
  await waitFor(look, { timeoutMs, what: "the end of every delivery" });
  const letters = async (label: string) =>
    (
      await setup.engine.engine.deadLetters.list(
        { partner: label, afterSeq: 0, limit: 50 },
        { client: "c", tenants: ["*"] },
      )
    ).items.length;
  const dead = setup.events
    .flatMap((event) => setup.wanting(event))
    .filter((label) => (partnerRows[label]?.status ?? 0) >= 400).length;
  const kept = async () =>
    (await Promise.all(Object.keys(partnerRows).map(letters))).reduce((sum, count) => sum + count, 0) === dead ||
    undefined;
  await waitFor(kept, { timeoutMs, what: "the dead letters" });
}
