import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  eventText,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
  type Running,
} from "../../cli/installation.ts";
import { plainObject } from "../../crds/valid-objects.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../support/webhook-partner.ts";

const timeoutMs = 60_000;
const scope =
  "events:write webhooks:read webhooks:replay webhooks:ack webhooks:ping metrics:read admin:preview admin:usage";

/** Values that the partner does not get: two by their class, and one by its pointer. */
const hidden = { code: "hidden-code-7041", margin: "hidden-margin-7042", note: "hidden-note-7043" };
/** Fields with a class. Not even their names are shown, since no resource of the partner has them. */
const hiddenNames = ["zz_code", "zz_margin"];
const shown = "shown-value-7044";
const data = {
  shown,
  zz_code: hidden.code,
  lines: [{ sku: "a", zz_margin: hidden.margin }],
  zz_note: hidden.note,
};
const type = "payout.processed";
const payload = { excludeClasses: ["personal"], exclude: ["/data/zz_note"] };
const catalog = plainObject("EventCatalog", {
  "types[0].sensitive": [
    { pointer: "/zz_code", class: "personal" },
    { pointer: "/lines/*/zz_margin", class: "personal" },
  ],
  "types[0].versions[0].version": "2026-01-01",
  "types[0].versions[0].examples": [data],
  "types[0].versions[0].schema": {
    type: "object",
    properties: {
      shown: { type: "string" },
      zz_code: { type: "string" },
      lines: { type: "array", items: { type: "object", properties: { sku: {}, zz_margin: { type: "string" } } } },
      zz_note: { type: "string" },
    },
  },
});

/** A dead letter for each test, a delivered event, and one that is retried. */
const outcomes: Readonly<Record<string, number>> = { "evt-1": 404, "evt-2": 200, "evt-3": 503, "evt-4": 404 };

let partner: WebhookPartnerServer;
let installation: Installation;
let program: Running;
let folder: TemporaryFolder;
beforeAll(async () => {
  folder = await temporaryFolder("hidden-fields");
  partner = await startWebhookPartner(({ eventId }) => ({ status: outcomes[eventId] ?? 200 }));
  installation = await makeInstallation();
  await installation.write("catalog.yaml", JSON.stringify(catalog));
  await installation.write("acme.yaml", partnerText("acme", partner.url, { "subscriptions[0].payload": payload }));
  await installation.write("other.yaml", partnerText("other", partner.url.replace("v1", "v2")));
  program = await installation.start();
  const token = await installation.token();
  for (const id of Object.keys(outcomes)) await postEvent(program.line.url, token, eventText(id, { data }));
  const isAttempted = (id: string): boolean => partner.of(id).some(({ path }) => path.includes("v1"));
  await waitFor(() => Object.keys(outcomes).every(isAttempted), { timeoutMs, what: "an attempt for each event" });
}, 2 * timeoutMs);
afterAll(async () => {
  await installation?.remove();
  await partner?.close();
  await folder?.remove();
});

interface Response {
  readonly status: number;
  readonly text: string;
}

async function send(method: string, target: string, token: string, body?: object, accept?: string): Promise<Response> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(accept === undefined ? {} : { accept }),
  };
  const response = await request(program.line.url + target, {
    method: method.toUpperCase() as "GET",
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.statusCode, text: await response.body.text() };
}

const idOf = ({ text }: Response, name: string): string => String((JSON.parse(text) as Record<string, unknown>)[name]);

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required?: boolean;
  readonly schema: { readonly type?: string; readonly enum?: readonly string[]; readonly example?: string };
  readonly example?: string;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: object }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}

/** Values of parameters by name. A new name without a value here has that of the document's example, or none. */
type Values = Readonly<Record<string, readonly string[]>>;

const valuesOf = (previewId: string, replayId: string): Values => ({
  id: [...Object.keys(outcomes), previewId, replayId],
  namespace: ["default"],
  name: ["acme", "EventEnvelope", "__name__"],
  type: [type, "payout.*"],
  label: ["region"],
  tenant: ["lumen"],
  partner: ["default/acme"],
  partners: ["default/acme"],
  from: ["2026-01-01T00:00:00.000Z"],
  to: ["2030-01-01T00:00:00.000Z"],
  after_id: ["evt-1"],
});

/** All targets of an operation: each value in the path, alone and with each value of each other parameter. */
function targetsOf(path: string, { parameters = [] }: Operation, values: Values): readonly string[] {
  const all = (name: string, { schema, example }: Parameter): readonly string[] => {
    const given = values[name] ?? schema.enum ?? (schema.type === "boolean" ? ["true", "false"] : undefined);
    const fallback = example ?? schema.example;
    return given ?? (fallback === undefined ? [] : [fallback]);
  };
  const bases = parameters
    .filter((one) => one.in === "path")
    .reduce<readonly string[]>(
      (targets, one) =>
        targets.flatMap((target) =>
          all(one.name, one).map((value) => target.replace(`{${one.name}}`, encodeURIComponent(value))),
        ),
      [path],
    );
  const query = parameters.filter((one) => one.in === "query");
  const pair = (one: Parameter, value: string): string => `${one.name}=${encodeURIComponent(value)}`;
  const required = query.filter((one) => one.required === true).map((one) => pair(one, all(one.name, one)[0] ?? ""));
  const more = query.flatMap((one) => all(one.name, one).map((value) => [pair(one, value)]));
  return bases.flatMap((base) =>
    [[], ...more].map((one) => {
      const pairs = [...required, ...one].join("&");
      return pairs === "" ? base : `${base}?${pairs}`;
    }),
  );
}

/** Why none of these responds with success: there is no store, and no id is used by two tenants. */
const isUnreachable = (path: string): boolean =>
  /^\/(?:v1\/(?:metrics|status)|prometheus)\//u.test(path) || path === "/webhooks/event-ids/{id}";

/** @param deadLetter that no earlier request acknowledged */
const bodiesFor = (deadLetter: string): Readonly<Record<string, object>> => {
  const [acme = ""] = partnerText("acme", partner.url, { "subscriptions[0].payload": payload }).split("\n---\n");
  return {
    "/events": JSON.parse(eventText(`${deadLetter}-sent`, { data })) as object,
    "/v1/preview": { from: "2026-01-01T00:00:00.000Z", resources: [JSON.parse(acme)] },
    "/webhooks/replay": { event_ids: ["evt-2"], partners: ["default/acme"] },
    "/webhooks/ack": { event_id: deadLetter, partner: "default/acme", note: "by hand" },
    "/webhooks/partners/{namespace}/{name}/ping": { tenant: "lumen" },
  };
};

test.each([
  ["", scope, "evt-1"],
  [" and sees internals", `${scope} admin:debug`, "evt-4"],
])(
  "a token that is limited to a partner%s gets no excluded field from any route of the document",
  { timeout: 4 * timeoutMs },
  async (_what, scopes, deadLetter) => {
    const token = await installation.token({ tenants: ["lumen"], partners: ["default/acme"], scope: scopes });
    const { requests, reached, operations } = await askEverything(token, bodiesFor(deadLetter));
    const leaks = requests.flatMap(({ target, text }) => {
      const found = [...Object.values(hidden), ...hiddenNames].filter((value) => text.includes(value));
      return found.length === 0 ? [] : [`${target}: ${found.join(", ")}`];
    });
    const silent = operations.filter(({ path, method }) => !isUnreachable(path) && !reached.has(`${method} ${path}`));
    expect({ leaks, silent }).toEqual({ leaks: [], silent: [] });
    expect(requests.some(({ text }) => text.includes(shown))).toBe(true);
  },
);

/** The body that the document shows; undefined for a request without one. */
function exampleOf({ requestBody }: Operation): object | undefined {
  return requestBody === undefined ? undefined : (requestBody.content["application/json"]?.example ?? {});
}

/** What ends or acknowledges comes last. */
const methodsInOrder = ["get", "post", "put", "patch", "delete"];

/** Sends every request that the document describes, for every media type of its response. */
async function askEverything(token: string, bodies: Readonly<Record<string, object>>) {
  const { text } = await send("get", "/v1/openapi.json", token);
  const { paths } = JSON.parse(text) as { readonly paths: Readonly<Record<string, Record<string, Operation>>> };
  const replay = await send("post", "/webhooks/replay", token, bodies["/webhooks/replay"]);
  const preview = await send("post", "/v1/preview", token, bodies["/v1/preview"]);
  const values = valuesOf(idOf(preview, "preview_id"), idOf(replay, "replay_id"));
  const operations = Object.entries(paths)
    .flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => ({ path, method, operation })))
    .toSorted((one, other) => methodsInOrder.indexOf(one.method) - methodsInOrder.indexOf(other.method));
  const requests: { readonly target: string; readonly text: string }[] = [];
  const reached = new Set<string>();
  for (const { path, method, operation } of operations) {
    const body = bodies[path] ?? exampleOf(operation);
    const types = [undefined, ...Object.keys(operation.responses["200"]?.content ?? {})];
    const all = targetsOf(path, operation, values).flatMap((target) => types.map((accept) => ({ target, accept })));
    for (const { target, accept } of all) {
      const response = await send(method, target, token, method === "get" ? undefined : body, accept);
      requests.push({ target: `${method} ${target} ${response.status}`, text: response.text });
      if (response.status < 300) reached.add(`${method} ${path}`);
    }
  }
  return { requests, reached, operations: operations.map(({ path, method }) => ({ path, method })) };
}

test("the partner gets no excluded field either, and a token of the tenant sees all of them", async () => {
  const bodiesOf = (version: string): string =>
    partner.received.flatMap(({ path, body }) => (path.includes(version) ? [body.toString()] : [])).join("\n");
  expect([...Object.values(hidden), ...hiddenNames].filter((value) => bodiesOf("v1").includes(value))).toEqual([]);
  expect(bodiesOf("v1")).toContain(shown);
  await waitFor(() => Object.values(hidden).every((value) => bodiesOf("v2").includes(value)), {
    timeoutMs,
    what: "the whole event at the other partner",
  });
  const { text } = await send("get", "/webhooks/events/evt-1", await installation.token());
  expect(Object.values(hidden).filter((value) => !text.includes(value))).toEqual([]);
});

test("neither the console's page nor the debug bundle has a value of an event", { timeout: timeoutMs }, async () => {
  const output = join(folder.path, "bundle.tgz");
  const { admin_url: admin, nats_url: nats, url } = program.line;
  const args = ["debug", "bundle", "--admin", admin, "--nats", nats, "--data", installation.data, "--output", output];
  expect(await runProgram(args)).toMatchObject({ code: 0 });
  const page = await request(`${url}/console/`);
  const text = gunzipSync(await readFile(output)).toString() + (await page.body.text());
  expect([shown, ...Object.values(hidden)].filter((value) => text.includes(value))).toEqual([]);
});
