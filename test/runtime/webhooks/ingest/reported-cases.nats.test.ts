import { request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseSchema } from "../../../../crds/event-schema/parse-schema.ts";
import { eventText, get, makeInstallation, partnerText, postEvent } from "../../../cli/installation.ts";
import type { Installation, Running } from "../../../cli/installation.ts";
import { plainObject, type Changes } from "../../../crds/valid-objects.ts";
import { waitFor } from "../../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../../support/webhook-partner.ts";

// Faults of schema registries, validators and event filters that their users reported.

const timeoutMs = 30_000;
const version = "2026-01-01";
const properties = {
  cents: { type: "integer", multipleOf: 5 },
  short: { type: "string", maxLength: 2 },
};
const catalog = JSON.stringify(
  plainObject("EventCatalog", {
    "types[0].type": "reported.case",
    "types[0].versions[0]": { version, schema: { type: "object", properties } },
  }),
);

/** What each partner subscribes to, by its name. */
const subscriptions: Readonly<Record<string, Changes>> = {
  notbaz: { "subscriptions[0].matchers": [{ pointer: "/data/foo", op: "NotEqual", value: "baz" }] },
  isnull: { "subscriptions[0].matchers": [{ pointer: "/data/foo", op: "Equal", type: "Null", value: "null" }] },
  exists: { "subscriptions[0].matchers": [{ pointer: "/data/foo", op: "Exists" }] },
  istrue: { "subscriptions[0].matchers": [{ pointer: "/data/foo", op: "Equal", type: "Boolean", value: "true" }] },
  textual: { "subscriptions[0].matchers": [{ pointer: "/data/foo", op: "In", values: ["true", "42"] }] },
  extension: { "subscriptions[0].matchers": [{ pointer: "/heart", op: "Equal", value: "42" }] },
  second: { "subscriptions[0].types": ["reported.none", "reported.listed"] },
  prefix: { "subscriptions[0].types": ["reported.list"] },
};

let partner: WebhookPartnerServer;
let installation: Installation;
let program: Running;
let token: string;
beforeAll(async () => {
  partner = await startWebhookPartner();
  installation = await makeInstallation();
  await installation.write("catalog.yaml", catalog);
  for (const [name, changes] of Object.entries(subscriptions))
    await installation.write(`${name}.yaml`, partnerText(name, partner.url.replace("v1", name), changes));
  program = await installation.start();
  token = await installation.token();
}, 2 * timeoutMs);
afterAll(async () => {
  await installation?.remove();
  await partner?.close();
});

let sent = 0;

async function send(data: object, fields: object = { type: "reported.case" }) {
  sent += 1;
  const id = `case-${sent}`;
  const { status, body } = await postEvent(program.line.url, token, eventText(id, { data, ...fields }));
  return { id, status, code: body["code"] };
}

/** The partners that the event is routed to. */
async function routedTo(id: string): Promise<readonly string[]> {
  const path = `${program.line.url}/webhooks/events/${id}?explain=true`;
  const look = async (): Promise<readonly string[] | undefined> => {
    const { body } = await get(path, token);
    const { partners } = body["explanation"] as {
      readonly partners: readonly { readonly partner: string; readonly routed: boolean; readonly reason: string }[];
    };
    const names = partners.filter(({ routed }) => routed).map((one) => one.partner.replace("default/", ""));
    const isDone = partners.every(({ reason }) => !["pending", "would_be_routed", "in_delivery"].includes(reason));
    return isDone && (names.length > 0 || body["routed_at"] !== null) ? names.toSorted() : undefined;
  };
  return waitFor(look, { timeoutMs, what: `the routing of ${id}` });
}

test.each([
  ["a multiple of 5 beyond 2^53 is one (jsonschema#1234)", '{"cents":9007199254740995}', 202],
  ["its neighbour is none, with all its digits", '{"cents":9007199254740996}', 422],
  ["two emoji are two characters (typia#2046)", '{"short":"😀😀"}', 202],
  ["three emoji are three", '{"short":"😀😀😀"}', 422],
])("%s", async (_what, data, status) => {
  sent += 1;
  const body = eventText(`case-${sent}`, { type: "reported.case" }).replace(/"data":\{[^}]*\}/u, `"data":${data}`);
  expect(await postEvent(program.line.url, token, body)).toMatchObject({ status });
});

test("a multiple of a fraction, which doubles miss, is rejected in the schema (jsonschema#1433)", () => {
  const schema = { type: "object", properties: { price: { multipleOf: 0.01 } } };
  expect(parseSchema(schema).problems).toEqual([
    { pointer: "/properties/price/multipleOf", detail: "multipleOf must be a whole number of at least 1" },
  ]);
});

const everyone = ["notbaz"];

test.each<[what: string, data: object, fields: object, partners: readonly string[]]>([
  ["null is not another text, and exists (localstack#9711)", { foo: null }, {}, ["exists", "isnull", "notbaz"]],
  ["a missing value is not another text, and does not exist", {}, {}, everyone],
  ["true is no text (floci#1888)", { foo: true }, {}, ["exists", "istrue", "notbaz"]],
  ["the text true is no boolean", { foo: "true" }, {}, ["exists", "notbaz", "textual"]],
  ["42 is no text", { foo: 42 }, {}, ["exists", "notbaz"]],
  ["the second type of a list is subscribed (hanko#1354)", {}, { type: "reported.listed" }, ["notbaz", "second"]],
])("%s", async (_what, data, fields, partners) => {
  const { id, status } = await send(data, { type: "reported.case", ...fields });
  expect(status).toBe(202);
  expect(await routedTo(id)).toEqual(partners);
});

test("an extension of a CloudEvent in a header is a text, also if it looks like a number (eventing#1646)", async () => {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "ce-specversion": "1.0",
    "ce-id": "cloud-1",
    "ce-source": "heartbeats",
    "ce-type": "reported.case",
    "ce-time": "2026-01-31T12:00:00Z",
    "ce-version": version,
    "ce-tenant": "lumen",
    "ce-heart": "42",
  };
  const { statusCode } = await request(`${program.line.url}/events`, { method: "POST", headers, body: "{}" });
  expect(statusCode).toBe(202);
  expect(await routedTo("cloud-1")).toEqual(["extension", "notbaz"]);
});
