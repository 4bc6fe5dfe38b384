import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EventHistory } from "../../../../api/histories.ts";
import { historyBytes } from "../../../../runtime/webhooks/history/history.ts";
import type { HistoryView } from "../../../../runtime/webhooks/history/history-view.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../../support/webhook-partner.ts";
import { configOf, eventBytes, partnerConfig, startEngine, type TestEngine } from "../engine-fixture.ts";

const timeoutMs = 20_000;
const eventId = "evt-bodies";
const subscriptions = [
  {
    name: "some",
    types: ["**"],
    tenants: ["*"],
    selects: { producers: [], matchers: [], payload: [{ exclude: ["/data/amount_minor"] }], order: 0 },
  },
];
/** By the name of the partner. */
const formats = {
  plain: {},
  cloud: { format: "CloudEvents" },
  part: { subscriptions },
  both: { subscriptions, format: "CloudEvents" },
} as const;
type Name = keyof typeof formats;
const names = Object.keys(formats) as Name[];

let server: NatsServerHandle;
let recipient: WebhookPartnerServer;
let engine: TestEngine;

beforeAll(async () => {
  server = await startNatsServer();
  recipient = await startWebhookPartner();
  engine = await startEngine(
    server.url,
    configOf(
      ...names.map((name) => ({ ...partnerConfig(name, new URL(`/${name}`, recipient.url).href), ...formats[name] })),
    ),
  );
  await engine.ingest(eventBytes(eventId));
  await waitFor(
    async () => (await shown({})).deliveries.filter(({ state }) => state === "delivered").length === names.length,
    { timeoutMs, what: "the deliveries" },
  );
});
afterAll(async () => {
  await engine?.stop();
  await recipient?.close();
  await server?.stop();
});

async function shown(view: HistoryView): Promise<EventHistory> {
  const history = await engine.engine.history.event(eventId, ["*"], view);
  if (history === undefined) throw new Error("no history");
  return JSON.parse(Buffer.from(historyBytes(history)).toString()) as EventHistory;
}

function attemptTo(name: Name, { deliveries }: EventHistory) {
  const { request, signed } = deliveries.find(({ partner }) => partner === `default/${name}`)?.attempts[0] ?? {};
  if (request === undefined || signed === undefined || signed === null) throw new Error("no attempt is recorded");
  return { request, signed };
}

const received = (name: Name): string =>
  recipient
    .of(eventId)
    .find(({ path }) => path === `/${name}`)
    ?.body.toString() ?? "";
const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");

describe("the body of an attempt", () => {
  const views: readonly (readonly [string, (name: Name) => HistoryView])[] = [
    ["a tenant", () => ({})],
    ["an administrator", () => ({ showsInternals: true })],
    ["the partner", (name) => ({ partners: [`default/${name}`] })],
  ];

  test.each(names.flatMap((name) => views.map(([viewer, view]) => [name, viewer, view(name)] as const)))(
    "to the partner %s is for %s the one that was sent, with the digest of the signed text",
    async (name, _, view) => {
      const history = await shown(view);
      const { request, signed } = attemptTo(name, history);
      const digest = digestOf(received(name));
      expect(request.body_sha256).toBe(digest);
      expect(signed.canonical?.split("\n").at(3)).toBe(digest);
      expect(request.body ?? JSON.stringify({ ...history.event, attempt: 1 })).toBe(received(name));
    },
  );

  test.each(["part", "both"] as const)("to the partner %s has no excluded field for it", async (name) => {
    expect(JSON.stringify(await shown({ partners: [`default/${name}`] }))).not.toContain("amount_minor");
  });

  test("is in the history only if it is not the event", async () => {
    const { deliveries } = await shown({});
    const withBody = deliveries.filter(({ attempts }) => attempts[0]?.request?.body !== undefined);
    expect(withBody.map(({ partner }) => partner)).toEqual(["default/both", "default/cloud", "default/part"]);
    const own = await shown({ partners: ["default/part"] });
    expect(own.deliveries[0]?.attempts[0]?.request?.body).toBeUndefined();
  });

  test("is not shown to a token of partners that may not see a part of it", async () => {
    const { deliveries } = await shown({ partners: ["default/plain", "default/part"] });
    const [part, plain] = deliveries.map(({ attempts }) => attempts[0]);
    expect([plain?.request?.body, plain?.request?.body_sha256]).toEqual([undefined, undefined]);
    expect(plain?.signed?.canonical_reason).toBe("part_hidden");
    expect(part?.request?.body_sha256).toBe(digestOf(received("part")));
  });
});
