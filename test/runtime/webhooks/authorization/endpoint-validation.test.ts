import { createServer, type Server } from "node:https";
import type { IncomingMessage } from "node:http";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import {
  createEndpointValidations,
  type EndpointValidations,
} from "../../../../runtime/webhooks/authorization/endpoint-validation.ts";
import { createTokens } from "../../../../runtime/webhooks/authorization/access-tokens.ts";
import { compilePartners, type Partner } from "../../../../runtime/webhooks/partners/partner.ts";
import { createSender } from "../../../../runtime/webhooks/sending/send.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { listenOnLoopback } from "../../../support/loopback.ts";
import { configOf, partnerConfig, type PartnerOverrides } from "../engine-fixture.ts";

const authority = createCertificateAuthority("consents");
const identity = authority.issue({ commonName: "recipient", names: ["127.0.0.1"] });
const sender = createSender();
const fixed = { "x-fixed": "1", "webhook-request-origin": "other.example", "USER-AGENT": "other" };
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});
afterAll(() => sender.close());

type Answer = readonly [status: number, headers?: Readonly<Record<string, string>>];

interface Case {
  readonly validations: EndpointValidations;
  readonly partner: Partner;
  readonly seen: readonly Pick<IncomingMessage, "method" | "url" | "headers" | "rawHeaders">[];
  clockMs: number;
}

/** A recipient over HTTPS that answers like this, and a partner that wants to be asked. */
async function caseOf(
  answer: () => Answer,
  overrides: PartnerOverrides = {},
  verification: { verification?: "Handshake" } = { verification: "Handshake" },
): Promise<Case> {
  const seen: IncomingMessage[] = [];
  const server: Server = createServer({ cert: identity.cert, key: identity.key }, (request, response) => {
    seen.push(request);
    response.writeHead(...answer()).end();
  });
  const loopback = await listenOnLoopback(server);
  closers.push(() => loopback.close());
  const plain = partnerConfig("one", `https://127.0.0.1:${loopback.port}/webhooks/v1/{domain}`, overrides);
  const config = configOf({
    ...plain,
    endpoint: { ...plain.endpoint, ...verification, tls: { ca: "ca" }, headers: fixed },
  });
  const material = { ...config.material, ca: Buffer.from(authority.cert).toString("base64") };
  const [partner] = compilePartners({ ...config, material }, []);
  if (partner === undefined) throw new Error("no partner");
  const clock = { clockMs: 0 };
  const tokens = createTokens(sender, Date.now);
  const validations = createEndpointValidations({
    sender,
    tokens,
    origin: "Events.Example.com",
    version: "1.2.3",
    monotonicMs: () => clock.clockMs,
    now: () => clock.clockMs,
  });
  return Object.assign(clock, { validations, partner, seen });
}

const of = ({ validations, partner }: Case, type = "payout.processed") => validations.of(partner, partner.urlFor(type));
const allowed = { "webhook-allowed-origin": "events.example.com" };
const yes: Answer = [200, allowed];

describe("the validation of an endpoint (CloudEvents web hooks §4)", () => {
  test("sends an OPTIONS request with origin and rate to the URL of the delivery, over TLS", async () => {
    const it = await caseOf(() => yes, { delivery: { maxInFlight: 4, rate: { perSecond: 2, burst: 2 } } });
    expect(await of(it)).toEqual({});
    expect(it.seen).toMatchObject([
      {
        method: "OPTIONS",
        url: "/webhooks/v1/payout",
        headers: {
          "webhook-request-origin": "Events.Example.com",
          "webhook-request-rate": "120",
          "x-fixed": "1",
          "user-agent": "Heliograph/1.2.3",
        },
      },
    ]);
    expect(it.seen[0]?.headers).not.toHaveProperty("content-type");
    const names = it.seen[0]?.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(names).toHaveLength(new Set(names).size);
  });

  test("requests no rate when the partner has no limit", async () => {
    const it = await caseOf(() => yes);
    await of(it);
    expect(it.seen[0]?.headers).not.toHaveProperty("webhook-request-rate");
  });

  test.each<[string, Answer, object]>([
    ["consents for its origin", yes, {}],
    ["consents for every origin", [204, { "webhook-allowed-origin": "*" }], {}],
    ["consents without a limit", [200, { ...allowed, "webhook-allowed-rate": "*" }], {}],
    ["consents to a rate", [200, { ...allowed, "webhook-allowed-rate": "90" }], { perMinute: 90 }],
  ])("%s", async (_name, answer, validation) => {
    expect(await of(await caseOf(() => answer))).toEqual(validation);
  });

  test("keeps a Retry-After, and asks again once it has passed", async () => {
    const it = await caseOf(() => [429, { "retry-after": "20" }]);
    expect(await of(it)).toMatchObject({ failure: { reason: "consent", retryAfterMs: 20_000 } });
    it.clockMs = 19_999;
    await of(it);
    expect(it.seen).toHaveLength(1);
    it.clockMs = 20_000;
    await of(it);
    expect(it.seen).toHaveLength(2);
  });

  test.each<[string, Answer, string]>([
    ["names no origin", [200], "no WebHook-Allowed-Origin"],
    [
      "names an origin that begins with this one",
      [200, { "webhook-allowed-origin": "events.example.com.attacker.tld" }],
      "another origin",
    ],
    ["does not know the method", [405], "status 405"],
    ["names another origin", [200, { "webhook-allowed-origin": "other.example" }], "another origin"],
    ["knows no OPTIONS", [405, allowed], "status 405"],
    ["redirects", [302, { ...allowed, location: "/elsewhere" }], "status 302"],
    ["allows a rate of none", [200, { ...allowed, "webhook-allowed-rate": "0" }], "WebHook-Allowed-Rate"],
    ["allows a rate that is no number", [200, { ...allowed, "webhook-allowed-rate": "fast" }], "WebHook-Allowed-Rate"],
  ])("that %s gets nothing", async (_name, answer, detail) => {
    const { failure } = await of(await caseOf(() => answer));
    expect(failure).toMatchObject({ kind: "failure", reason: "consent" });
    expect(failure?.detail).toContain(detail);
  });

  test("runs once for many deliveries and again after an hour, for each URL separately", async () => {
    const it = await caseOf(() => yes);
    await Promise.all([of(it), of(it), of(it)]);
    await of(it);
    expect(it.seen).toHaveLength(1);
    await of(it, "order.placed");
    expect(it.seen.map(({ url }) => url)).toEqual(["/webhooks/v1/payout", "/webhooks/v1/order"]);
    it.clockMs += 3_600_000;
    await of(it);
    expect(it.seen).toHaveLength(3);
  });

  test("is repeated half a minute after a refusal", async () => {
    let answer: Answer = [403];
    const it = await caseOf(() => answer);
    expect(await of(it)).toMatchObject({ failure: { reason: "consent" } });
    answer = yes;
    it.clockMs += 29_999;
    expect(await of(it)).toMatchObject({ failure: { reason: "consent" } });
    expect(it.seen).toHaveLength(1);
    it.clockMs += 1;
    expect(await of(it)).toEqual({});
  });

  test("reports the last result, the URL that fails, and its start", async () => {
    let answer: Answer = [404];
    const it = await caseOf(() => answer);
    const result = () => it.validations.resultOf(it.partner);
    expect(result()).toBeUndefined();
    await of(it);
    expect(result()).toMatchObject({
      failure: { reason: "consent", detail: "the endpoint does not consent: status 404" },
      sinceMs: 0,
    });
    answer = yes;
    it.clockMs = 10_000;
    await of(it, "order.placed");
    expect(result()).toMatchObject({ failure: { reason: "consent" }, sinceMs: 0 });
    it.clockMs = 40_000;
    await of(it);
    expect(result()).toEqual({ sinceMs: 40_000 });
    it.clockMs = 7_200_000;
    await of(it);
    expect(result()).toEqual({ sinceMs: 40_000 });
  });

  test("reports the failure of an unreachable endpoint", async () => {
    const it = await caseOf(() => yes);
    await Promise.all(closers.splice(0).map((close) => close()));
    const { failure } = await of(it);
    expect(failure).toMatchObject({ kind: "failure", reason: "connect" });
    expect(failure?.detail).toMatch(/^validation of the endpoint: /u);
  });
});

test("an endpoint without verification is not validated", async () => {
  const it = await caseOf(() => yes, {}, {});
  expect(await of(it)).toEqual({});
  expect(it.seen).toEqual([]);
});
