import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Client } from "undici";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";
import { startWebhookPartner, type ReceivedDelivery, type WebhookPartnerServer } from "../support/webhook-partner.ts";
import {
  eventText,
  get,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
  type Pod,
} from "./installation.ts";

const timeoutMs = 30_000;
const soon = { "retry.scheduleSeconds": [1, 1, 1, 1, 1, 1, 1, 1], "circuitBreaker.enabled": false };
/** Longer than an attempt takes, on a machine with much else to do. */
const attemptMs = 2_000;

const maxInFlight = 8;
/** So many that each program has some of them. */
const partners = ["one", "two", "three", "four", "five", "six", "seven", "eight"];

let installation: Installation;
let nats: NatsServerHandle;
let partner: WebhookPartnerServer;
let delayMs = 0;

beforeEach(async () => {
  delayMs = 0;
  [installation, nats, partner] = await Promise.all([
    makeInstallation(),
    startNatsServer(),
    startWebhookPartner(() => ({ delayMs })),
  ]);
});

afterEach(async () => {
  await installation.remove();
  await Promise.all([partner.close(), nats.stop()]);
});

const urlOf = (name: string): string => partner.url.replace("/webhooks/", `/${name}/`);

/** Unix milliseconds of each request, by the partner and the event. */
function arrivals(): ReadonlyMap<string, readonly number[]> {
  const keyOf = ({ path, eventId }: ReceivedDelivery): string => `${path.split("/")[1]} ${eventId}`;
  const byDelivery = Map.groupBy(partner.received, keyOf);
  return new Map([...byDelivery].map(([key, all]) => [key, all.map(({ atMs }) => atMs)]));
}

/** Sends events sequentially on one connection until told to end. @throws Error unless each is accepted */
async function publish(pod: Pod, name: string, accepted: string[], isOver: () => boolean): Promise<void> {
  const client = new Client(pod.line.url, { pipelining: 1, headersTimeout: 10_000 });
  const headers = { authorization: `Bearer ${await pod.token()}`, "content-type": "application/json" };
  try {
    while (!isOver()) {
      const id = `${name}-${accepted.length}`;
      const order = { method: "POST", path: "/events", headers, body: eventText(id) } as const;
      const { statusCode, body } = await client.request(order);
      await body.dump();
      expect(statusCode).toBe(202);
      accepted.push(id);
    }
  } finally {
    await client.destroy();
  }
}

/** The same; after a fault the event goes to the next program, as behind a load balancer. Returns the accepted ids. */
async function publishToOneOf(pods: readonly Pod[], name: string, isOver: () => boolean): Promise<readonly string[]> {
  const accepted: string[] = [];
  for (const pod of pods) {
    try {
      await publish(pod, name, accepted, isOver);
      break;
    } catch (error) {
      if (pod === pods.at(-1)) throw error;
    }
  }
  return accepted;
}

describe("two programs over one NATS", () => {
  test("lose no event and double only attempts under way when one of them is killed under load", async () => {
    delayMs = 20;
    const changes = { ...soon, "delivery.maxInFlight": maxInFlight };
    for (const name of partners) await installation.write(`${name}.yaml`, partnerText(name, urlOf(name), changes));
    const [killed, other] = await installation.startTwo(nats.url);
    let isOver = false;
    const publishers = [0, 1, 2, 3, 4, 5].map((index) =>
      publishToOneOf(index % 2 === 0 ? [killed, other] : [other], `p${index}`, () => isOver),
    );
    await waitFor(() => partner.received.length > 150, { timeoutMs, what: "deliveries to flow" });
    const killedAtMs = Date.now();
    killed.signal("SIGKILL");
    await killed.ended();
    const before = partner.received.length;
    await waitFor(() => partner.received.length > before + 150, { timeoutMs, what: "deliveries after the kill" });
    isOver = true;
    const accepted = (await Promise.all(publishers)).flat();
    const lost = (): readonly string[] => {
      const arrived = arrivals();
      return accepted.flatMap((id) => partners.map((name) => `${name} ${id}`)).filter((one) => !arrived.has(one));
    };
    await waitFor(() => lost().length === 0, { timeoutMs, what: "every accepted event at every partner" });
    other.signal("SIGTERM");
    expect(await other.ended()).toMatchObject({ code: 0 });

    const doubled = [...arrivals().values()].filter((times) => times.length > 1);
    const areUnderWay = ([first = 0, second = 0, ...more]: readonly number[]): boolean =>
      first > killedAtMs - attemptMs && second >= killedAtMs && more.length === 0;
    expect(doubled.filter((times) => !areUnderWay(times))).toEqual([]);
    expect(doubled.length).toBeLessThanOrEqual(maxInFlight * partners.length);
    console.log(`${accepted.length} events to ${partners.length} partners: 0 lost, ${doubled.length} doubled`);
  });

  test("each apply an edit of their folder", async () => {
    await installation.write("partner.yaml", partnerText("acme", partner.url));
    const pods = await installation.startTwo(nats.url);
    await installation.write("other.yaml", partnerText("other", partner.url));
    for (const { line } of pods) {
      const hasBoth = async () => (await get(`${line.admin_url}/configz`)).body["partners"] === 2;
      await waitFor(hasBoth, { timeoutMs, what: "the edit" });
      expect((await get(`${line.admin_url}/configz`)).body).toMatchObject({ partners: 2, errors: [] });
    }
  });

  test("let attempts under way end when one gets SIGTERM, and the other makes the rest", async () => {
    delayMs = 500;
    await installation.write("partner.yaml", partnerText("acme", partner.url, soon));
    const [ended, other] = await installation.startTwo(nats.url);
    const token = await ended.token();
    const ids = Array.from({ length: 30 }, (_, index) => `evt-${index}`);
    await Promise.all(ids.map((id) => postEvent(ended.line.url, token, eventText(id))));
    await waitFor(() => partner.received.length > 0, { timeoutMs, what: "the attempts to begin" });
    ended.signal("SIGTERM");
    expect(await ended.ended()).toMatchObject({ code: 0 });
    await waitFor(() => ids.every((id) => partner.of(id).length > 0), { timeoutMs, what: "the rest" });
    other.signal("SIGTERM");
    expect(await other.ended()).toMatchObject({ code: 0 });
    expect(partner.received.length).toBe(30);
  });
});
