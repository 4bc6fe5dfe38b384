import { createHash, createPublicKey, verify, type JsonWebKey } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import type { OAuth2Config } from "../../../../crds/config.ts";
import { sendAuthorized } from "../../../../runtime/webhooks/authorization/send-authorized.ts";
import { createTokens } from "../../../../runtime/webhooks/authorization/access-tokens.ts";
import type { AttemptOutcome } from "../../../../runtime/webhooks/settlement/outcome.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { createSender } from "../../../../runtime/webhooks/sending/send.ts";
import { listenOnLoopback } from "../../../support/loopback.ts";
import { waitFor } from "../../../support/wait.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

interface Seen {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Lowercase names, as often as they came. */
  readonly names: readonly string[];
  readonly body: string;
}
type Answer = (seen: Seen, times: number) => Reply | Promise<Reply>;

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
}

async function server(answer: Answer): Promise<{ readonly url: string; readonly seen: readonly Seen[] }> {
  const seen: Seen[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks = await request.toArray();
    const names = request.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    const one = {
      url: request.url ?? "",
      headers: request.headers,
      names,
      body: Buffer.concat(chunks as Buffer[]).toString(),
    };
    seen.push(one);
    const { status, headers = {}, body } = await answer(one, seen.length);
    response.writeHead(status, headers).end(typeof body === "object" ? JSON.stringify(body) : body);
  };
  const loopback = await listenOnLoopback(createServer((request, response) => void take(request, response)));
  closers.push(() => loopback.close());
  return { url: `http://127.0.0.1:${loopback.port}`, seen };
}

interface Case {
  readonly send: () => Promise<AttemptOutcome>;
  /** Sends only if it returns true after the wait for a token. */
  readonly sendIf: (maySend: () => boolean) => Promise<AttemptOutcome | undefined>;
  readonly tokens: readonly Seen[];
  readonly deliveries: readonly Seen[];
  nowMs: number;
}

const granted: Answer = (_seen, times) => ({
  status: 200,
  body: { access_token: `token-${times}`, token_type: "Bearer", expires_in: 120 },
});

async function caseOf(
  issue: Answer = granted,
  answer: Answer = () => ({ status: 204 }),
  oauth2: Partial<OAuth2Config> = {},
  fixed: Readonly<Record<string, string>> = {},
): Promise<Case> {
  const issuer = await server(issue);
  const endpoint = await server(answer);
  const plain = partnerConfig("one", `${endpoint.url}/webhooks/v1/x?q=1`);
  const client = {
    tokenUrl: `${issuer.url}/token`,
    clientId: "our client",
    secret: "s",
    scopes: ["a", "b"],
    ...oauth2,
  };
  const config = configOf({ ...plain, endpoint: { ...plain.endpoint, oauth2: client } });
  const [partner] = compilePartners(
    { ...config, material: { ...config.material, s: Buffer.from("our+secret:1").toString("base64") } },
    [],
  );
  if (partner === undefined) throw new Error("no partner");
  const sender = createSender();
  closers.push(() => sender.close());
  const it: { nowMs: number } = { nowMs: Date.UTC(2026, 0, 1) };
  const tokens = createTokens(sender, () => it.nowMs);
  const request = {
    url: partner.urlFor("a.b"),
    headers: { "X-Event-Id": "e-1", ...fixed },
    body: Buffer.from("{}"),
    timeoutMs: 5_000,
    networks: partner.config.networks,
  };
  const send = (): Promise<AttemptOutcome> => sendAuthorized({ sender, tokens }, partner, request);
  const sendIf = (maySend: () => boolean) => sendAuthorized({ sender, tokens }, partner, request, maySend);
  return Object.assign(it, { send, sendIf, tokens: issuer.seen, deliveries: endpoint.seen });
}

describe("a delivery with OAuth 2.0 client credentials", () => {
  test("asks a token endpoint with a query, which its proof leaves out", async () => {
    const issuer = await server(granted);
    const it = await caseOf(granted, undefined, { tokenUrl: `${issuer.url}/token?p=B2C_1_policy`, dpop: true });
    expect(await it.send()).toMatchObject({ status: 204 });
    expect(issuer.seen.map(({ url }) => url)).toEqual(["/token?p=B2C_1_policy"]);
    expect(proven(issuer.seen[0]?.headers["dpop"])).toMatchObject({ htu: `${issuer.url}/token` });
  });

  test("carries a token fetched by RFC 6749 §4.4 and caches it until shortly before it expires", async () => {
    const it = await caseOf();
    expect(await Promise.all([it.send(), it.send()])).toMatchObject([{ status: 204 }, { status: 204 }]);
    expect(it.tokens).toHaveLength(1);
    const credentials = Buffer.from("our+client:our%2Bsecret%3A1").toString("base64");
    expect(it.tokens[0]).toMatchObject({
      headers: { authorization: `Basic ${credentials}`, "content-type": "application/x-www-form-urlencoded" },
      body: "grant_type=client_credentials&scope=a+b",
    });
    expect(it.deliveries.map(({ headers }) => headers.authorization)).toEqual(["Bearer token-1", "Bearer token-1"]);
    it.nowMs += 89_000;
    await it.send();
    it.nowMs += 2_000;
    await it.send();
    expect(it.deliveries.map(({ headers }) => headers.authorization).slice(2)).toEqual([
      "Bearer token-1",
      "Bearer token-2",
    ]);
  });

  test.each(["Authorization", "authorization", "AUTHORIZATION"])("has one %s beside a fixed one", async (name) => {
    const it = await caseOf(granted, undefined, { dpop: true }, { [name]: "Bearer fixed", dPoP: "fixed" });
    expect(await it.send()).toMatchObject({ status: 204 });
    const names = it.deliveries[0]?.names.filter((one) => one === "authorization" || one === "dpop");
    expect(names?.toSorted()).toEqual(["authorization", "dpop"]);
    expect(it.deliveries[0]?.headers.authorization).toBe("DPoP token-1");
  });

  test("gets its token while the requests of 300 other clients to the same token endpoint hang", async () => {
    const held = new Set<string>();
    const issuer = await listenOnLoopback(
      createServer(({ headers }, response) => {
        const [clientId = ""] = Buffer.from(headers.authorization?.slice("Basic ".length) ?? "", "base64")
          .toString()
          .split(":");
        if (clientId === "fast") response.end(JSON.stringify({ access_token: "t", token_type: "Bearer" }));
        else held.add(clientId);
      }),
    );
    closers.push(() => issuer.close());
    const sender = createSender();
    closers.push(() => sender.close());
    const tokens = createTokens(sender, Date.now);
    const authorize = (clientId: string, timeoutMs: number) =>
      tokens.authorize({
        key: clientId,
        oauth2: { tokenUrl: `http://127.0.0.1:${issuer.port}/token`, clientId, scopes: [] },
        secret: "s",
        networks: { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true },
        timeoutMs,
        method: "POST",
        url: new URL("http://partner.test/"),
      });
    const slow = Array.from({ length: 300 }, (_, place) => authorize(`slow-${place}`, 60_000));
    await waitFor(() => held.size === 300, { timeoutMs: 10_000, what: "the requests that hang" });
    expect(await authorize("fast", 1_000)).toMatchObject({ headers: { Authorization: "Bearer t" } });
    await sender.close();
    expect((await Promise.all(slow)).filter(({ failure }) => failure?.reason !== "token")).toEqual([]);
  });

  test("is not sent when its partner paused while the token was fetched, the second one included", async () => {
    const it = await caseOf();
    expect(await it.sendIf(() => false)).toBeUndefined();
    expect([it.tokens.length, it.deliveries.length]).toEqual([1, 0]);
    const refused = await caseOf(granted, () => ({ status: 401 }));
    expect(await refused.sendIf(() => refused.deliveries.length === 0)).toBeUndefined();
    expect([refused.tokens.length, refused.deliveries.length]).toEqual([2, 1]);
  });

  test("is not sent when its message was lost while its connection was opened", async () => {
    const it = await caseOf();
    let asked = 0;
    expect(await it.sendIf(() => (asked += 1) === 1)).toBeUndefined();
    expect([asked, it.tokens.length, it.deliveries.length]).toEqual([2, 1, 0]);
  });

  test.each<[string, number, Readonly<Record<string, string>>, number | undefined]>([
    ["in seconds", 429, { "retry-after": "20" }, 20_000],
    [
      "as a date",
      503,
      { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT", date: "Thu, 01 Jan 2026 00:00:00 GMT" },
      30_000,
    ],
    ["of another status", 400, { "retry-after": "20" }, undefined],
  ])("keeps the Retry-After of the token endpoint %s", async (_, status, headers, expected) => {
    const failed = await (await caseOf(() => ({ status, headers }))).send();
    expect(failed).toMatchObject({ kind: "failure", reason: "token" });
    expect(failed.kind === "failure" ? failed.retryAfterMs : undefined).toBe(expected);
  });

  test("whose token is refused fetches a new one, once", async () => {
    const it = await caseOf(granted, ({ headers }) => ({
      status: headers.authorization === "Bearer token-1" ? 401 : 204,
    }));
    expect(await it.send()).toMatchObject({ status: 204 });
    expect([it.tokens.length, it.deliveries.length]).toEqual([2, 2]);
    const stubborn = await caseOf(granted, () => ({ status: 401 }));
    expect(await stubborn.send()).toMatchObject({ status: 401 });
    expect([stubborn.tokens.length, stubborn.deliveries.length]).toEqual([2, 2]);
  });

  test("whose token is revoked under many deliveries fetches one for all of them, also for late responses", async () => {
    const late = Promise.withResolvers<undefined>();
    let revoked = 0;
    const it = await caseOf(granted, async ({ headers }) => {
      if (headers.authorization !== "Bearer token-1") return { status: 204 };
      revoked += 1;
      if (revoked > 10) await late.promise;
      return { status: 401 };
    });
    const sent = Array.from({ length: 20 }, () => it.send());
    await waitFor(() => it.deliveries.length === 30, {
      timeoutMs: 10_000,
      what: "the second attempts of the first ten",
    });
    late.resolve(undefined);
    expect(new Set((await Promise.all(sent)).map((outcome) => outcome.kind === "response" && outcome.status))).toEqual(
      new Set([204]),
    );
    expect([it.tokens.length, it.deliveries.length]).toEqual([2, 40]);
  });

  test("gives its credentials in the form to a server that refuses them in the header, and keeps to that", async () => {
    const issue: Answer = (seen, times) =>
      new URLSearchParams(seen.body).get("client_secret") === "our+secret:1"
        ? granted(seen, times)
        : { status: 400, body: { errorCode: "invalid_client", errorSummary: "A client_id must be in the request." } };
    const it = await caseOf(issue);
    expect(await it.send()).toMatchObject({ status: 204 });
    expect(it.tokens.map(({ headers }) => headers.authorization !== undefined)).toEqual([true, false]);
    expect(it.tokens[1]?.body).toBe(
      "grant_type=client_credentials&scope=a+b&client_id=our+client&client_secret=our%2Bsecret%3A1",
    );
    it.nowMs += 91_000;
    expect(await it.send()).toMatchObject({ status: 204 });
    expect(it.tokens).toHaveLength(3);
  });

  test("asks again by the header once the form is refused", async () => {
    let accepted = "form";
    const issue: Answer = (seen, times) =>
      (seen.headers.authorization === undefined ? "form" : "header") === accepted
        ? granted(seen, times)
        : { status: 401, body: { error: "invalid_client" } };
    const it = await caseOf(issue);
    await it.send();
    accepted = "header";
    it.nowMs += 91_000;
    expect(await it.send()).toMatchObject({ kind: "failure", reason: "token" });
    expect(await it.send()).toMatchObject({ status: 204 });
  });

  test.each<[string, object | string, number]>([
    ["a text", { expires_in: "120" }, 90],
    ["a text with a fraction", { expires_in: "120.9" }, 90],
    ["a fraction", { expires_in: 120.5 }, 90],
    ["less than the leeway", { expires_in: 20 }, 10],
    ["a little more than the leeway", { expires_in: 40 }, 20],
    ["nothing", {}, 270],
    ["null", { expires_in: null }, 270],
    ["no time", { expires_in: "soon" }, 270],
    ["a list", { expires_in: [60] }, 270],
    ["zero", { expires_in: 0 }, 270],
    ["less than zero", { expires_in: -1 }, 270],
    ["more than a day", { expires_in: 1e300 }, 86_370],
    [
      "120, the token type in capitals and scopes as a list",
      { expires_in: 120, token_type: "BEARER", scope: ["a"] },
      90,
    ],
    ["120, and no token type", { expires_in: 120, token_type: undefined }, 90],
    ["120 after a byte order mark", '\uFEFF{"access_token":"token","expires_in":120}', 90],
  ])("keeps a token whose expires_in is %s for the right time", async (_, answer, seconds) => {
    const body = typeof answer === "string" ? answer : { access_token: "token", token_type: "bearer", ...answer };
    const headers = { "content-type": "application/json;charset=UTF-8" };
    const it = await caseOf(() => ({ status: 200, headers, body }));
    await it.send();
    it.nowMs += (seconds - 1) * 1_000;
    await it.send();
    expect(it.tokens).toHaveLength(1);
    it.nowMs += 2_000;
    await it.send();
    expect(it.tokens).toHaveLength(2);
    expect(it.deliveries.map(({ headers: { authorization } }) => authorization)).toEqual(Array(3).fill("Bearer token"));
  });

  test("takes a token response of 64 KiB, and says so of a longer one", async () => {
    const response = (bytes: number): string => {
      const [head, end] = ['{"access_token":"token","id_token":"', '"}'];
      return `${head}${"x".repeat(bytes - head.length - end.length)}${end}`;
    };
    const it = await caseOf(() => ({ status: 200, body: response(65_536) }));
    expect(await it.send()).toMatchObject({ status: 204 });
    const longer = await caseOf(() => ({ status: 200, body: response(65_537) }));
    expect(await longer.send()).toMatchObject({ detail: "no access token: status 200, longer than 65536 bytes" });
  });

  test("says so of a compressed token response, which was not requested", async () => {
    const headers = { "content-encoding": "gzip" };
    const it = await caseOf(() => ({ status: 200, headers, body: "not read" }));
    expect(await it.send()).toMatchObject({
      detail: "no access token: status 200, compressed, although not requested",
    });
  });

  test.each(["http://a b/token", "http://h:99999/token", "http://[::1:bad/token"])(
    "fails if its token URL is invalid: %s",
    async (tokenUrl) => {
      const it = await caseOf(granted, () => ({ status: 204 }), { tokenUrl });
      expect(await it.send()).toMatchObject({
        kind: "failure",
        reason: "token",
        detail: expect.stringContaining("not a valid URL"),
      });
      expect(it.deliveries).toEqual([]);
    },
  );

  test("names the error of the token endpoint if its code is a known one", async () => {
    const known = await caseOf(() => ({ status: 400, body: { error: "invalid_client" } }));
    expect(await known.send()).toMatchObject({ detail: "no access token: status 400 invalid_client" });
    const other = await caseOf(() => ({ status: 400, body: { error: "our+secret:1" } }));
    expect(await other.send()).toMatchObject({ detail: "no access token: status 400" });
  });

  test.each<[string, Answer]>([
    ["refuses", () => ({ status: 401, body: { error: "invalid_client", error_description: "our+secret:1" } })],
    ["says nothing", () => ({ status: 200 })],
    ["gives no token", () => ({ status: 200, body: { token_type: "Bearer" } })],
    ["gives what no header can hold", () => ({ status: 200, body: { access_token: "a\r\nb" } })],
  ])("is not made when the token endpoint %s, and tells no secret", async (_, issue) => {
    const it = await caseOf(issue);
    const outcome = await it.send();
    expect(outcome).toMatchObject({ kind: "failure", reason: "token" });
    expect(JSON.stringify(outcome)).not.toContain("our+secret");
    expect(it.deliveries).toEqual([]);
  });
});

/** The claims of a proof whose signature is by the key that it names. */
function proven(proof: unknown): Readonly<Record<string, unknown>> {
  const [header = "", claims = "", signature = ""] = String(proof).split(".");
  const { typ, alg, jwk } = JSON.parse(Buffer.from(header, "base64url").toString()) as {
    typ: string;
    alg: string;
    jwk: JsonWebKey;
  };
  expect({ typ, alg, d: jwk.d }).toEqual({ typ: "dpop+jwt", alg: "ES256", d: undefined });
  const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" } as const;
  expect(verify("sha256", Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, "base64url"))).toBe(true);
  return JSON.parse(Buffer.from(claims, "base64url").toString()) as Readonly<Record<string, unknown>>;
}

describe("a delivery whose token is bound to a key (RFC 9449)", () => {
  test("proves the key to the token endpoint and to the partner with a new proof each time", async () => {
    const it = await caseOf(granted, undefined, { dpop: true });
    await it.send();
    await it.send();
    expect(proven(it.tokens[0]?.headers["dpop"])).toMatchObject({
      htm: "POST",
      htu: expect.stringMatching(/\/token$/u) as string,
      iat: it.nowMs / 1_000,
    });
    const [first, second] = it.deliveries.map(({ headers }) => proven(headers["dpop"]));
    expect(it.deliveries[0]?.headers.authorization).toBe("DPoP token-1");
    expect(first).toMatchObject({
      htm: "POST",
      htu: expect.stringMatching(/\/webhooks\/v1\/x$/u) as string,
      ath: createHash("sha256").update("token-1").digest("base64url"),
    });
    expect(first?.["jti"]).not.toBe(second?.["jti"]);
  });

  test("repeats the nonce that either of them requires", async () => {
    const asks = (headers: IncomingHttpHeaders, nonce: string): boolean => proven(headers["dpop"])["nonce"] !== nonce;
    const issue: Answer = (seen, times) =>
      asks(seen.headers, "n-1")
        ? { status: 400, headers: { "dpop-nonce": "n-1" }, body: { error: "use_dpop_nonce" } }
        : granted(seen, times);
    const answer: Answer = ({ headers }) =>
      asks(headers, "n-2") ? { status: 401, headers: { "dpop-nonce": "n-2" } } : { status: 204 };
    const it = await caseOf(issue, answer, { dpop: true });
    expect(await it.send()).toMatchObject({ status: 204 });
  });
});
