import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { request } from "undici";
import { publicKeySet } from "../../runtime/webhooks/signing/keys.ts";
import { eventText, get, makeInstallation, partnerText, postEvent, type Installation } from "../cli/installation.ts";
import { runProgram } from "../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import {
  buildGoEndpoint,
  frameworks,
  startFrameworkEndpoint,
  startGoEndpoint,
  startPythonEndpoint,
  type Endpoint,
  type EndpointKeys,
} from "./endpoints.ts";
import { python, pythonWithFrameworks, pythonWithPublicKeys } from "./programs.ts";

const timeoutMs = 30_000;
const limitMs = 180_000;
const eventsCount = 20;
const scope = "events:write webhooks:read webhooks:replay webhooks:ping";
let installation: Installation;
let folder: TemporaryFolder;
/** Endpoints that run, by the name of their partner. */
let endpoints: Map<string, Endpoint>;

beforeEach(async () => {
  installation = await makeInstallation();
  folder = await temporaryFolder("recipients");
  endpoints = new Map();
});

afterEach(async () => {
  await Promise.all([...endpoints.values()].map((endpoint) => endpoint.stop()));
  await installation.remove();
  await folder.remove();
});

/** An endpoint's keys, and the key of its partner. No two partners may share one. */
interface Pair extends EndpointKeys {
  readonly signing: string;
  /** Of the bodies. @default the envelope */
  readonly format?: "CloudEvents";
}

function pairsOf(language: string): readonly Pair[] {
  return [
    sharedPair(language),
    { ...sharedPair(`${language}-cloud`), format: "CloudEvents" },
    { name: `${language}-standard`, scheme: "StandardWebhooks", ...newKey() },
    { name: `${language}-message`, scheme: "HttpMessageSignatures", ...newKey() },
  ];
}

function sharedPair(name: string): Pair {
  const shared = `${name}-`.padEnd(40, "k");
  return { name, scheme: "HmacV1", key: shared, signing: shared };
}

/** A new private key in PEM, and the set of its public half. */
function newKey(): Pick<Pair, "key" | "signing"> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const signing = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return { key: publicKeySet([{ algorithm: "ed25519", privateKey }]), signing };
}

const path = "/webhooks/v1/{domain}";
/** No attempt times out on a slow machine. */
const calm = { "endpoint.timeoutSeconds": 60, "delivery.maxInFlight": 4 };

interface Delivery {
  readonly partner: string;
  readonly state: string;
  readonly attempts: readonly { readonly status: number }[];
}

/** Deliveries of an event to each endpoint by the name of their partner, once all have so many attempts. */
async function settled(url: string, token: string, eventId: string, attempts: number) {
  return waitFor(
    async () => {
      const { body } = await get(`${url}/webhooks/events/${eventId}`, token);
      const deliveries = body["deliveries"] as readonly Delivery[];
      const isSettled = deliveries.every((one) => one.state !== "in_delivery" && one.attempts.length === attempts);
      return deliveries.length === endpoints.size && isSettled ? deliveries : undefined;
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
async function deliverTwice(partners: readonly Pair[]): Promise<readonly Delivery[]> {
  for (const { name, scheme, signing, format } of partners) {
    const changes = { ...calm, "signing.scheme": scheme, ...(format === undefined ? {} : { format }) };
    await installation.write(`${name}.yaml`, partnerText(name, endpoints.get(name)?.url + path, changes, signing));
  }
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
    expect(deliveries.map(({ state }) => state)).toEqual(partners.map(() => "delivered"));
    expect(deliveries.flatMap(({ attempts }) => attempts.map(({ status }) => status))).toEqual(
      partners.flatMap(() => [200, 200]),
    );
  }
  for (const { name, key } of partners.filter((one) => typeof one.key === "object"))
    expect((await get(`${line.url}/webhooks/partners/default/${name}/jwks.json`, token)).body).toEqual(key);
  for (const { name, format } of partners) if (format === "CloudEvents") await ping(line.url, token, name);
  return settled(line.url, token, "evt-odd", 1);
}

/** Sends a test event, as whoever connects a partner does, and expects that its recipient accepts it. */
async function ping(url: string, token: string, name: string): Promise<void> {
  const environment = { HELIOGRAPH_URL: url, HELIOGRAPH_TOKEN: token };
  const args = ["partners", "ping", `default/${name}`, "--tenant", "lumen", "--wait"];
  const { code, stdout, stderr } = await runProgram(args, { environment });
  expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: "" });
  expect(stdout).toMatch(/^heliograph:ping:[^]*delivered/u);
}

const rejected = { state: "rejected", attempts: [{ status: 422 }] };
/** An effect for each event, once. */
const payouts = Array.from({ length: eventsCount }, (_, index) => `payout-of-evt-${index}`).toSorted();

test("live deliveries to the published endpoints have their effects once", { timeout: limitMs }, async (context) => {
  const program = await buildGoEndpoint(folder.path);
  const inGo = pairsOf("go");
  for (const keys of inGo) endpoints.set(keys.name, await startGoEndpoint(program, folder.path, keys));
  const { pairs: inPython, untested } = await startPython();
  const partners = [...inGo, ...inPython];
  expect(await deliverTwice(partners)).toMatchObject(partners.map(() => rejected));
  for (const { name } of inGo) expect(bookedInGo(endpoints.get(name))).toEqual(payouts);
  for (const { name } of inPython) expect(bookedInPython(name)).toEqual(payouts);
  context.skip(untested.length > 0, `the rest was tested: ${untested.join("; ")}`);
});

/** Starts the endpoints in Python that this machine can run, and tells why it cannot run the others. */
async function startPython() {
  const command = await python();
  if (command === undefined) return { pairs: [], untested: ["there is no Python 3.9 on PATH"] };
  const [withPublicKeys, withFrameworks] = [await pythonWithPublicKeys(), await pythonWithFrameworks()];
  const pairs = pairsOf("python").filter(({ key }) => typeof key === "string" || "command" in withPublicKeys);
  const interpreter = "command" in withPublicKeys ? withPublicKeys.command : command;
  for (const keys of pairs) endpoints.set(keys.name, await startPythonEndpoint(interpreter, folder.path, keys));
  const inFrameworks = "command" in withFrameworks ? await startFrameworks(withFrameworks.command) : [];
  const untested = [withPublicKeys, withFrameworks].flatMap((one) => ("missing" in one ? [one.missing] : []));
  return { pairs: [...pairs, ...inFrameworks], untested };
}

/** Starts the endpoint of each framework with a Python that has them. */
async function startFrameworks(command: string): Promise<readonly Pair[]> {
  const pairs = frameworks.map((name) => ({ ...sharedPair(name), name }));
  for (const pair of pairs) endpoints.set(pair.name, await startFrameworkEndpoint(command, folder.path, pair));
  return pairs;
}

/** Payouts that an endpoint in Go has logged. */
function bookedInGo(endpoint: Endpoint | undefined): readonly string[] {
  return [...(endpoint?.log() ?? "").matchAll(/booked (?<payout>\S+) of/gu)]
    .map(({ groups }) => groups?.["payout"] ?? "")
    .toSorted();
}

/** Payouts in the database of an endpoint in Python. */
function bookedInPython(name: string): readonly string[] {
  using database = new DatabaseSync(join(folder.path, `${name}.db`), { readOnly: true });
  const rows = database.prepare("SELECT payout_id FROM payouts").all();
  return rows.map(({ payout_id: payout }) => String(payout)).toSorted();
}
