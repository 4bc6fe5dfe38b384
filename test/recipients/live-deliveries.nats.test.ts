import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { request } from "undici";
import {
  eventText,
  get,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
} from "../runtime/cli/installation.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { startGoEndpoint, startPythonEndpoint, type Endpoint } from "./endpoints.ts";
import { python } from "./programs.ts";

const timeoutMs = 30_000;
const limitMs = 180_000;
const eventsCount = 20;
const scope = "events:write webhooks:read webhooks:replay";
let installation: Installation;
let folder: TemporaryFolder;
let endpoints: readonly Endpoint[];

beforeEach(async () => {
  installation = await makeInstallation();
  folder = await temporaryFolder("recipients");
  endpoints = [];
});

afterEach(async () => {
  await Promise.all(endpoints.map((endpoint) => endpoint.stop()));
  await installation.remove();
  await folder.remove();
});

/** The key of a partner of {@link partnerText}. */
const keyOf = (name: string) => `${name}-`.padEnd(40, "k");
const path = "/webhooks/v1/{domain}";
/** No attempt times out on a slow machine. */
const calm = { "endpoint.timeoutSeconds": 60, "delivery.maxInFlight": 4 };

interface Delivery {
  readonly partner: string;
  readonly state: string;
  readonly attempts: readonly { readonly status: number }[];
}

/** Deliveries of an event by the name of their partner, once each has so many attempts that no retry waits. */
async function settled(url: string, token: string, eventId: string, attempts: number) {
  return waitFor(
    async () => {
      const { body } = await get(`${url}/webhooks/events/${eventId}`, token);
      const deliveries = body["deliveries"] as readonly Delivery[];
      const isSettled = deliveries.every((one) => one.state !== "in_delivery" && one.attempts.length === attempts);
      return deliveries.length > 0 && isSettled ? deliveries : undefined;
    },
    { timeoutMs, what: `${attempts} attempts of ${eventId}` },
  );
}

async function replay(url: string, token: string, eventIds: readonly string[]): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ event_ids: eventIds });
  const { statusCode, body: text } = await request(`${url}/webhooks/replay`, { method: "POST", headers, body });
  expect({ statusCode, text: await text.text() }).toMatchObject({ statusCode: 202 });
}

/** Sends events, replays all of them, and returns the deliveries of the event that no recipient takes. */
async function deliverTwice(names: readonly string[]): Promise<readonly Delivery[]> {
  for (const [index, name] of names.entries())
    await installation.write(`${name}.yaml`, partnerText(name, endpoints[index]?.url + path, calm));
  const { line } = await installation.start();
  const token = await installation.token({ scope });
  const ids = Array.from({ length: eventsCount }, (_, index) => `evt-${index}`);
  for (const id of ids) {
    const data = { payout_id: `payout-of-${id}`, note: "café 🛰" };
    expect((await postEvent(line.url, token, eventText(id, { data }))).status).toBe(202);
  }
  expect((await postEvent(line.url, token, eventText("evt-odd", { data: { amount: 1 } }))).status).toBe(202);
  for (const id of ids) await settled(line.url, token, id, 1);
  await replay(line.url, token, ids);
  for (const id of ids) {
    const deliveries = await settled(line.url, token, id, 2);
    expect(deliveries.map(({ state }) => state)).toEqual(names.map(() => "delivered"));
    expect(deliveries.flatMap(({ attempts }) => attempts.map(({ status }) => status))).toEqual(
      names.flatMap(() => [200, 200]),
    );
  }
  return settled(line.url, token, "evt-odd", 1);
}

const rejected = { state: "rejected", attempts: [{ status: 422 }] };
/** An effect for each event, once. */
const payouts = Array.from({ length: eventsCount }, (_, index) => `payout-of-evt-${index}`).toSorted();

test("live deliveries to the published endpoints have their effects once", { timeout: limitMs }, async (context) => {
  const command = await python();
  const go = await startGoEndpoint(folder.path, keyOf("go"));
  endpoints = [go];
  if (command !== undefined) endpoints = [go, await startPythonEndpoint(command, folder.path, keyOf("python"))];
  const names = ["go", "python"].slice(0, endpoints.length);
  expect(await deliverTwice(names)).toMatchObject(names.map(() => rejected));
  expect(bookedInGo(go)).toEqual(payouts);
  context.skip(command === undefined, "Go alone was tested: there is no Python 3.9 on PATH");
  expect(bookedInPython()).toEqual(payouts);
});

/** Payouts that the endpoint in Go has logged. */
function bookedInGo(endpoint: Endpoint): readonly string[] {
  return [...endpoint.log().matchAll(/booked (?<payout>\S+) of/gu)]
    .map(({ groups }) => groups?.["payout"] ?? "")
    .toSorted();
}

/** Payouts in the database of the endpoint in Python. */
function bookedInPython(): readonly string[] {
  using database = new DatabaseSync(join(folder.path, "payouts.db"), { readOnly: true });
  const rows = database.prepare("SELECT payout_id FROM payouts").all();
  return rows.map(({ payout_id: payout }) => String(payout)).toSorted();
}
