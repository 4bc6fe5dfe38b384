import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Refusal } from "../../../../runtime/errors/refusal.ts";
import { createPublicServer } from "../../../../runtime/http/public-server.ts";
import { eventRoutes } from "../../../../runtime/http/routes/events.ts";
import { schemaRoutes } from "../../../../runtime/http/routes/schemas.ts";
import { webhookRoutes } from "../../../../runtime/http/routes/webhooks.ts";
import type { Caller } from "../../../../runtime/metrics/caller.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { findSchemathesis } from "../../../support/schemathesis.ts";
import { runsOf } from "../../../support/soak.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../../support/webhook-partner.ts";
import { run } from "../../../tools/run.ts";
import { configOf, eventBytes, partnerConfig, startEngine, type TestEngine } from "../../webhooks/engine-fixture.ts";

/** Fixed, so that a run can be repeated. */
const seed = 20_260_104;
const installMsMax = 300_000;
const runMsMax = 600_000;
const examples = runsOf(50);

const caller: Caller = {
  client: "fuzz",
  tenants: ["*"],
  regions: ["*"],
  environments: ["*"],
  metrics: ["*"],
  roles: [],
  scopes: ["events:write", "webhooks:read", "webhooks:replay", "webhooks:ack"],
};

/** `method route status` of everything that was answered. */
const answered = new Set<string>();
let server: NatsServerHandle;
let partner: WebhookPartnerServer;
let engine: TestEngine;
let app: ReturnType<typeof createPublicServer>;
let url: string;
let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder("fuzz-webhooks");
  server = await startNatsServer();
  partner = await startWebhookPartner();
  engine = await startEngine(server.url, configOf(partnerConfig("one", partner.url)));
  await engine.ingest(eventBytes("known"));
  const routes = [...eventRoutes(engine.engine), ...webhookRoutes(engine.engine)];
  app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: ({ method, route, status }) => answered.add(`${method} ${route} ${status}`),
    now: Date.now,
    authenticate: async (authorization) => {
      if (authorization === undefined) throw new Refusal("token_missing", "Send a token.");
      if (authorization !== "Bearer fuzz") throw new Refusal("token_invalid", "Not this one.");
      return caller;
    },
    routes: [...routes, ...schemaRoutes(routes)],
  });
  url = await app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await app?.close();
  await engine?.stop();
  await partner?.close();
  await server?.stop();
  await folder?.remove();
});

/** A refusal is any 4xx. An event of a batch that is not valid is refused by itself, so that the batch is answered. */
const config = `
[checks]
enabled = false
not_a_server_error.enabled = true
status_code_conformance.enabled = true
content_type_conformance.enabled = true
response_headers_conformance.enabled = true
response_schema_conformance.enabled = true
unsupported_method.enabled = true
ignored_auth.enabled = true

[parameters]
"path.id" = "known"
`;

test(`requests made of the OpenAPI document find no 5xx and nothing that it does not say (${examples} to an operation)`, { timeout: installMsMax + runMsMax }, async ({ skip }) => {
  const found = await findSchemathesis();
  if ("missing" in found) {
    process.stderr.write(`heliograph tests: not run: ${found.missing}\n`);
    skip(found.missing);
    return;
  }
  const configFile = join(folder.path, "schemathesis.toml");
  await writeFile(configFile, config);
  const args = ["--config-file", configFile, "run", `${url}/v1/openapi.json`, "--include-path-regex", "^/(events|webhooks)"];
  const bounds = ["--max-examples", String(examples), "--seed", String(seed), "--phases", "examples,fuzzing", "--generation-database", "none", "--no-color", "--continue-on-failure"];
  const { code, stdout, stderr } = await run(found.command, [...args, ...bounds, "--header", "Authorization: Bearer fuzz"], { timeoutMs: runMsMax, cwd: folder.path });
  expect({ code, report: code === 0 ? "" : `${stdout}\n${stderr}` }).toEqual({ code: 0, report: "" });
  // Else everything was refused for one and the same reason.
  expect([...answered]).toEqual(expect.arrayContaining(["POST /events 202", "GET /webhooks/events/:id 200"]));
});
