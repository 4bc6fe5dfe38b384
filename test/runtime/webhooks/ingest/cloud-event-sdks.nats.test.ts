import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventRoutes } from "../../../../runtime/http/routes/events.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import { anonymous } from "../../../../runtime/http/server/route.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { findPythonProgram } from "../../../support/python-program.ts";
import { waitFor } from "../../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../../support/webhook-partner.ts";
import { resolveTool } from "../../../tools/resolve.ts";
import { succeed } from "../../../tools/run.ts";
import { configOf, partnerConfig, startEngine, type TestEngine } from "../engine-fixture.ts";

const timeoutMs = 20_000;
const program = new URL("../../../tools/cloudevents/client.py", import.meta.url).pathname;
const python = await findPythonProgram("cloudevents");
const goClient = await resolveTool("cloudevents-client");
/** The command of each SDK, before its arguments. */
const sdks: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  go: [goClient],
  ...("missing" in python ? {} : { python: [python.command, program] as const }),
};

let server: NatsServerHandle;
let partner: WebhookPartnerServer;
let engine: TestEngine;
let app: ReturnType<typeof createPublicServer>;
let url: string;
beforeAll(async () => {
  server = await startNatsServer();
  partner = await startWebhookPartner();
  engine = await startEngine(server.url, configOf({ ...partnerConfig("one", partner.url), format: "CloudEvents" }));
  app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: () => undefined,
    now: Date.now,
    authenticate: async () => ({ ...anonymous, client: "sdk", tenants: ["acme"], scopes: ["events:write"] }),
    routes: eventRoutes(engine.engine),
  });
  url = `${await app.listen({ host: "127.0.0.1", port: 0 })}/events`;
});
afterAll(async () => {
  await app?.close();
  await engine?.stop();
  await partner?.close();
  await server?.stop();
});

async function runSdk(name: string, args: readonly string[]): Promise<string> {
  const [command, ...before] = sdks[name] ?? [""];
  return (await succeed(command, [...before, ...args], { timeoutMs })).trim();
}

describe.each(Object.keys(sdks))("the SDK of CloudEvents for %s", (name) => {
  test.each([
    ["structured", "Zürich 100%"],
    ["binary", "50 % off"],
  ])("sends in %s mode and reads what a partner receives", async (mode, subject) => {
    const id = `${name}-${mode}`;
    expect(await runSdk(name, ["send", url, mode, id, subject])).toBe("202");
    const [delivery] = await waitFor(() => (partner.of(id).length > 0 ? partner.of(id) : undefined), {
      timeoutMs,
      what: id,
    });
    expect(delivery?.headers["content-type"]).toBe("application/cloudevents+json; charset=utf-8");
    expect(JSON.parse(delivery?.body.toString() ?? "")).toEqual({
      specversion: "1.0",
      id,
      type: "payout.processed",
      version: "2026-01-01",
      time: "2026-01-31T12:00:00.123Z",
      tenant: "acme",
      subject,
      source: `/${name}`,
      datacontenttype: "application/json",
      data: { amount: 5 },
      attempt: 1,
    });
    const read = await runSdk(name, ["read", delivery?.body.toString() ?? ""]);
    for (const text of [id, `/${name}`, "payout.processed", "acme", "2026-01-01"]) expect(read).toContain(`"${text}"`);
    expect(read).toMatch(/"attempt": ?1\b/u);
  });
});

test.each([
  ["without Content-Type", {}],
  ["with Content-Type in capitals", { "content-type": "Application/JSON; Charset=UTF-8" }],
])("an event in binary mode %s is stored", async (_, more) => {
  const id = `raw-${Object.keys(more).length}`;
  const names = {
    specversion: "1.0",
    id,
    source: "/raw",
    type: "a.b",
    time: "2026-01-31T12:00:00Z",
    version: "2026-01-01",
  };
  const headers = {
    ...more,
    ...Object.fromEntries(Object.entries(names).map(([name, value]) => [`ce-${name}`, value])),
  };
  const body = Buffer.from('{"amount":5}');
  const sent = await fetch(url, { method: "POST", headers, body });
  expect([sent.status, await sent.json()]).toEqual([202, { event_id: id, tenant: "acme", duplicate: false }]);
});
