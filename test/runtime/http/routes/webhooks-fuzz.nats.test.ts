import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RuntimeConfig } from "../../../../crds/config.ts";
import { ApiError } from "../../../../runtime/errors/api-error.ts";
import { eventRoutes } from "../../../../runtime/http/routes/events.ts";
import { schemaRoutes } from "../../../../runtime/http/routes/schemas.ts";
import { webhookRoutes } from "../../../../runtime/http/routes/webhooks.ts";
import { createPublicServer } from "../../../../runtime/http/server/public-server.ts";
import type { Caller } from "../../../../runtime/metrics/authorization/access.ts";
import { type NatsServerHandle, startNatsServer } from "../../../support/nats-server.ts";
import { findPythonProgram } from "../../../support/python-program.ts";
import { runsOf } from "../../../support/soak.ts";
import { type TemporaryFolder, temporaryFolder } from "../../../support/temp-folder.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../../support/webhook-partner.ts";
import { run } from "../../../tools/run.ts";
import { configOf, eventBytes, partnerConfig, startEngine, type TestEngine } from "../../webhooks/engine-fixture.ts";

/** Fixed, so that a run can be repeated. */
const seed = "166167461603029939281330569156305690565";
const installMsMax = 300_000;
const runMsMax = 600_000;
const examples = runsOf(50);
/** What the document cannot say of two members. */
const hooks = fileURLToPath(new URL("../../../tools/schemathesis/hooks.py", import.meta.url));

/** Of every tenant, and of one. */
const tokens = ["Bearer fuzz", "Bearer fuzz-acme"] as const;
const callerOf = (token: string): Caller => ({
  client: "fuzz",
  tenants: token === tokens[0] ? ["*"] : ["acme"],
  regions: ["*"],
  environments: ["*"],
  metrics: ["*"],
  roles: [],
  scopes: ["events:write", "webhooks:read", "webhooks:replay", "webhooks:ack", "webhooks:ping"],
});

const schema = { type: "object", properties: { payout_id: { type: "string" } } };
const eventCatalogs: RuntimeConfig["eventCatalogs"] = [
  {
    uid: "uid-of-payouts",
    namespace: "default",
    name: "payouts",
    generation: 1,
    specDigest: "",
    owner: "team-payouts",
    types: [
      {
        // No example of the document is an event of it, so that every valid event is accepted.
        type: "refund.declared",
        description: "A refund was declared.",
        sensitive: [],
        versions: [{ version: "2026-01-31", schema, examples: [{ payout_id: "po_1" }], state: "Active" }],
      },
    ],
  },
];

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
  // The names are those of the document's examples.
  partner = await startWebhookPartner(({ eventId }) => (eventId === "evt-1" ? { status: 404 } : {}));
  engine = await startEngine(server.url, { ...configOf(partnerConfig("acme", partner.url)), eventCatalogs });
  await Promise.all(["known", "evt-1"].map((id) => engine.ingest(eventBytes(id))));
  const routes = [...eventRoutes(engine.engine), ...webhookRoutes(engine.engine)];
  app = createPublicServer({
    log: pino({ level: "silent" }),
    observe: ({ method, route, status }) => answered.add(`${method} ${route} ${status}`),
    now: Date.now,
    authenticate: async (authorization) => {
      if (authorization === undefined) throw new ApiError("token_missing", "Send a token.");
      if (!tokens.some((token) => token === authorization)) throw new ApiError("token_invalid", "Not this one.");
      return callerOf(authorization);
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

/**
 * Positive and negative data, in every part of a request. A refusal is any 4xx. An event of a batch that is not valid
 * is refused by itself, so that the batch is answered. A token for every tenant has to name the one of a letter whose
 * event is gone, and that of a ping. A tenant that a partner has no subscription to is refused.
 */
const configWith = (replayId: string): string => `
hooks = "${hooks}"

[headers]
Authorization = "${tokens[0]}"

[checks]
negative_data_rejection.expected-statuses = ["4xx"]

[generation]
mode = "all"

[parameters]
"path.id" = "known"
"path.namespace" = "default"
"path.name" = "acme"
"path.type" = "refund.declared"

[[operations]]
include-path = "/events"
checks.negative_data_rejection.expected-statuses = ["4xx", 207]

[[operations]]
include-path = "/webhooks/replay/{id}"
parameters = { "path.id" = "${replayId}" }

[[operations]]
include-path = "/webhooks/ack"
headers = { Authorization = "${tokens[1]}" }

[[operations]]
include-path = "/webhooks/partners/{namespace}/{name}/ping"
headers = { Authorization = "${tokens[1]}" }
checks.positive_data_acceptance.enabled = false
`;

test(
  `requests made of the OpenAPI document find no 5xx and nothing that it does not say (${examples} to an operation)`,
  { timeout: installMsMax + runMsMax },
  async ({ skip }) => {
    const found = await findPythonProgram("schemathesis");
    if ("missing" in found) {
      process.stderr.write(`heliograph tests: not run: ${found.missing}\n`);
      skip(found.missing);
      return;
    }
    const started = await engine.engine.replays.replay(Buffer.from(JSON.stringify({ event_ids: ["none"] })), {
      client: "fuzz",
      tenants: ["*"],
    });
    const configFile = join(folder.path, "schemathesis.toml");
    await writeFile(configFile, configWith("replay_id" in started ? started.replay_id : ""));
    const args = ["--config-file", configFile, "run", `${url}/v1/openapi.json`];
    const bounds = [
      "--max-examples",
      String(examples),
      "--seed",
      seed,
      "--phases",
      "examples,coverage,fuzzing",
      "--generation-database",
      "none",
      "--no-color",
      "--continue-on-failure",
    ];
    const { code, stdout, stderr } = await run(found.command, [...args, ...bounds], {
      timeoutMs: runMsMax,
      cwd: folder.path,
    });
    expect({ code, report: code === 0 ? "" : `${stdout}\n${stderr}` }).toEqual({ code: 0, report: "" });
    // Else everything was refused for one and the same reason.
    const each = [
      "POST /events 202",
      "GET /webhooks/events/:id 200",
      "GET /webhooks/events 200",
      "GET /webhooks/types 200",
      "GET /webhooks/asyncapi 200",
      "GET /webhooks/types/:type 200",
      "GET /webhooks/replay 200",
      "GET /webhooks/replay/:id 200",
      "DELETE /webhooks/replay/:id 200",
    ];
    const more = [
      "POST /webhooks/replay 202",
      "POST /webhooks/dead-letters/redrive 202",
      "GET /webhooks/dead-letters 200",
      "GET /webhooks/dead-letters/counts 200",
      "POST /webhooks/ack 200",
    ];
    expect([...answered]).toEqual(expect.arrayContaining([...each, ...more]));
  },
);
