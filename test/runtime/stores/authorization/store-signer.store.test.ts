import { createHash, createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { QueriedStoreConfig } from "../../../../crds/config.ts";
import { createStoreHttp } from "../../../../runtime/stores/prometheus/store-http.ts";
import { exchangeAuthorized } from "../../../../runtime/stores/authorization/exchange-authorized.ts";
import { createStoreSet } from "../../../../runtime/stores/store.ts";
import type { WebIdentity } from "../../../../runtime/stores/store-secrets.ts";
import { type AuthorizationServer, startAuthorizationServer } from "../../../support/authorization-server.ts";
import { listenOnLoopback } from "../../../support/loopback.ts";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { temporaryFolder } from "../../../support/temp-folder.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { askHttps } from "../../../support/tls/https.ts";
import { waitFor } from "../../../support/wait.ts";
import { run } from "../../../tools/run.ts";
import { storeConfig } from "../../metrics/oracle/universe.ts";
import { storeCall } from "../store-call.ts";

const goMsMax = 240_000;
const startMsMax = 60_000;
const region = "eu-west-1";
const accepted = { id: "AKIDREADER", secret: "a/secret+key", token: "session//token==" };
/** Keys that the proxy accepts, by their id, and when they expire. */
const valid = new Map([[accepted.id, { ...accepted, endsAtMs: Number.POSITIVE_INFINITY }]]);
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A request that the proxy accepted. */
interface Seen {
  readonly method: string;
  readonly url: string;
  readonly contentType: string;
  readonly body: string;
  readonly authorization: string;
  readonly time: string;
}

let prometheus: PrometheusHandle;
let url = "";
const seen: Seen[] = [];
/** Milliseconds that the clock of the proxy is ahead. */
let proxyAheadMs = 0;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  prometheus = await startPrometheus();
  const proxy = await listenOnLoopback(createServer((request, response) => void verified(request, response)));
  url = `http://127.0.0.1:${proxy.port}`;
  closing.push(
    () => proxy.close(),
    () => prometheus.stop(),
  );
}, startMsMax);

afterAll(async () => {
  for (const close of closing) await close();
});

/** Forwards a request with a valid signature to the Prometheus; `/workspaces/w%20s` is the path of its API. */
async function verified(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Buffer.concat((await request.toArray()) as Buffer[]).toString();
  const { authorization = "", "x-amz-date": time = "", "content-type": contentType = "" } = request.headers;
  const { method = "", url: path = "" } = request;
  const reason = fault(request, body);
  const date = new Date(Date.now() + proxyAheadMs).toUTCString();
  if (reason !== undefined) {
    response.writeHead(403, { "content-type": "application/json", date });
    response.end(JSON.stringify({ message: reason }));
    return;
  }
  seen.push({ method, url: `${url}${path}`, contentType, body, authorization, time: String(time) });
  const target = `${prometheus.url}${path.replaceAll(/\/+/gu, "/").replace("/workspaces/w%20s", "")}`;
  const init = { method, headers: { "content-type": contentType }, ...(method === "POST" ? { body } : {}) };
  const answer = await fetch(target, init);
  response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
}

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const credentialForm =
  /^AWS4-HMAC-SHA256 Credential=(?<id>\w+)\/(?<scope>[^,]+), SignedHeaders=(?<names>[^,]+), Signature=(?<mac>\w{64})$/u;

function partsOf(authorization: string) {
  const groups: Readonly<Record<string, string>> = credentialForm.exec(authorization)?.groups ?? {};
  return { id: groups["id"] ?? "", scope: groups["scope"] ?? "", names: groups["names"] ?? "", mac: groups["mac"] };
}

/** A second verifier, written from the steps of the specification. */
function fault(request: IncomingMessage, body: string): string | undefined {
  const { authorization = "", "x-amz-security-token": token, "x-amz-date": date } = request.headers;
  const { id, scope, names, mac } = partsOf(authorization);
  const keys = valid.get(id) ?? { secret: "", token: "", endsAtMs: 0 };
  const stamp = String(date);
  const invalid = keyFault(keys, token) ?? timeFault(stamp);
  if (invalid !== undefined) return invalid;
  const canonical = canonicalOf(request, names, body);
  const key = scope
    .split("/")
    .reduce((last: string | Buffer, part) => createHmac("sha256", last).update(part).digest(), `AWS4${keys.secret}`);
  const text = `AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${sha(canonical)}`;
  if (createHmac("sha256", key).update(text).digest("hex") === mac) return undefined;
  return `The signature does not match.\n\nThe Canonical String for this request should have been\n'${canonical}'`;
}

function timeFault(stamp: string): string | undefined {
  const at = Date.parse(stamp.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/u, "$1-$2-$3T$4:$5:$6Z"));
  return Math.abs(Date.now() + proxyAheadMs - at) > 300_000 ? `Signature expired: ${stamp}` : undefined;
}

function keyFault(keys: { readonly token: string; readonly endsAtMs: number }, token: unknown): string | undefined {
  if (keys.token === "") return "Missing Authentication Token";
  if (token !== keys.token) return "The security token included in the request is invalid";
  return Date.now() >= keys.endsAtMs ? "The security token included in the request is expired" : undefined;
}

function canonicalOf({ method, url: target = "", headers }: IncomingMessage, names: string, body: string): string {
  const { pathname, search } = new URL(`${url}${target}`);
  const strict = (text: string): string => text.replaceAll("*", "%2A").replaceAll("%7E", "~");
  const query = search.slice(1).split("&").filter(Boolean).map(strict).sort().join("&");
  const lines = names.split(";").map((name) => `${name}:${String(headers[name])}`);
  const path = pathname.replaceAll(/\/+/gu, "/").replaceAll("%", "%25");
  return [method, path, query, ...lines, "", names, sha(body)].join("\n");
}

/** A set with a store of AWS keys. */
function setOf(base = `${url}/workspaces/w%20s/`) {
  const set = createStoreSet(Date.now, () => {
    throw new Error("no peer");
  });
  closing.unshift(() => set.stop());
  const keys = { accessKeyId: "id", secretAccessKey: "secret", sessionToken: "token" };
  const apply = (changes: Partial<typeof accepted> = {}): void => {
    const config = {
      ...storeConfig({ name: "eu", region: "eu", url }),
      peer: undefined,
      prometheus: {
        url: base,
        timeoutMs: 5_000,
        flavour: "Prometheus",
        headers: {},
        auth: { kind: "sigv4", region, keys },
      },
    } satisfies QueriedStoreConfig;
    const { id, secret, token } = { ...accepted, ...changes };
    set.apply(new Map([["eu", config]]), { id: base64(id), secret: base64(secret), token: base64(token) });
  };
  apply();
  return { apply, store: () => set.get("eu") };
}

describe("a store of Amazon Managed Service for Prometheus", () => {
  test("accepts signed queries, by POST and by GET, with every character", async () => {
    const { store } = setOf();
    expect(await store().client.single('count(vector(1)) # é "+/%&=~* ', 60_000, storeCall())).toBe(1);
    await store().background?.get("labels", { "match[]": '{a="b c+d é/~\'()*!"}', start: "1", end: "2" }, storeCall());
    expect(await store().capabilities()).toMatchObject({ boundary: "LeftOpen" });
    expect(seen.map(({ method }) => method)).toContain("GET");
  });

  test("uses new keys of the Secret without a restart, and reports rejected ones without the session token", async () => {
    const { apply, store } = setOf();
    apply({ secret: "other" });
    const caught = await store().client.single("vector(1)", 0, storeCall()).catch(String);
    expect(caught).toContain("HTTP 403: ");
    expect(caught).toContain("does not match.");
    expect(caught).not.toContain(accepted.token);
    apply();
    expect(await store().client.single("vector(1)", 0, storeCall())).toBe(1);
  });

  test("reports the difference of both clocks when a signature has expired", async () => {
    const { store } = setOf();
    proxyAheadMs = 420_000;
    try {
      const caught = await store().client.single("vector(1)", 0, storeCall()).catch(String);
      expect(caught).toMatch(
        /Signature expired: .*; the clock of this pod is 4(?:19|20|21) s behind the clock of the store/u,
      );
      expect(caught).toContain("StoreError");
    } finally {
      proxyAheadMs = 0;
    }
  });

  // Prometheus signs two slashes of a URL as they are, and AWS rejects the request: prometheus/prometheus#10200.
  test("accepts a URL with two slashes", async () => {
    const { store } = setOf(`${url}//workspaces//w%20s`);
    expect(await store().client.single("vector(1)", 0, storeCall())).toBe(1);
  });

  // Proxies change other headers: grafana/agent#6264, trickstercache/trickster#685.
  test("gets signatures of the host, the type and the credentials only, and no other header of AWS or a tenant", async () => {
    const { store } = setOf();
    const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
    expect(await store().client.single("vector(1)", 0, { ...storeCall(), traceparent, tenant: "lumen" })).toBe(1);
    const last = partsOf(seen.at(-1)?.authorization ?? "");
    expect(last.names).toBe("content-type;host;x-amz-date;x-amz-security-token");
  });

  // A role in the environment of the pod replaced configured keys: VictoriaMetrics/VictoriaMetrics#9168.
  test("uses the keys of its Secret in a pod whose environment names a role", async () => {
    process.env["AWS_ROLE_ARN"] = roleArn;
    process.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/nowhere";
    try {
      const { store } = setOf();
      expect(await store().client.single("vector(1)", 0, storeCall())).toBe(1);
      expect(partsOf(seen.at(-1)?.authorization ?? "").id).toBe(accepted.id);
    } finally {
      delete process.env["AWS_ROLE_ARN"];
      delete process.env["AWS_WEB_IDENTITY_TOKEN_FILE"];
    }
  });

  test("rejects requests without a signature", async () => {
    const config = { url: `${url}/workspaces/w%20s`, timeoutMs: 5_000, flavour: "Prometheus", headers: {} } as const;
    const http = createStoreHttp(config, { headers: {}, tls: {} }, exchangeAuthorized(undefined));
    closing.unshift(() => http.close({ atOnce: true }));
    await expect(http.post("query", { query: "1" }, storeCall())).rejects.toMatchObject({ kind: "status" });
  });

  test(
    "gets the signatures that the SDK of AWS computes",
    async () => {
      const signed = seen.slice(0, 6);
      const lines = signed.map(({ method, url: target, contentType, body, time }) =>
        JSON.stringify({
          Method: method,
          URL: target,
          ContentType: contentType,
          Body: body,
          Time: time,
          Region: region,
          Service: "aps",
          ID: accepted.id,
          Secret: accepted.secret,
          Token: accepted.token,
        }),
      );
      const program = fileURLToPath(new URL("../../../support/aws/sign.go", import.meta.url));
      const cwd = fileURLToPath(new URL("../../../tools/prometheus", import.meta.url));
      const { code, stdout, stderr } = await run("go", ["run", program, ...lines], { cwd, timeoutMs: goMsMax });
      expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout.trim().split("\n")).toEqual(signed.map(({ authorization }) => authorization));
      expect(signed.length).toBe(6);
    },
    goMsMax,
  );
});

const roleArn = "arn:aws:iam::123456789012:role/metrics/reader";
const audience = "https://sts.amazonaws.com";

/** A Security Token Service that verifies tokens of a real issuer. */
interface Sts {
  readonly url: string;
  /** Subjects and roles of the exchanges. */
  readonly granted: { readonly kid: string | undefined; readonly role: string | null }[];
  requests: number;
  /** Life of new keys. */
  lifeMs: number;
  /** Status and code of each response instead of keys. */
  failure: readonly [status: number, code: string] | undefined;
  /** Responses with the failure; then keys. @default all */
  failures: number;
  hang: boolean;
}

let issuer: AuthorizationServer;
let sts: Sts;
let tokenFile = "";
const certificateAuthority = createCertificateAuthority("authority of the STS");

/** Writes a token of the issuer, as the kubelet does. */
async function project(from: AuthorizationServer = issuer, resource = audience): Promise<string> {
  const token = await from.token("plain", { resource });
  await writeFile(tokenFile, token);
  return token;
}

async function startSts(): Promise<Sts> {
  const certificate = certificateAuthority.issue({ commonName: "sts", names: ["localhost"] });
  const server = createTlsServer(certificate, (request, response) => void exchanged(request, response));
  const place = await listenOnLoopback(server);
  closing.push(() => place.close());
  return {
    url: `https://localhost:${place.port}`,
    granted: [],
    requests: 0,
    lifeMs: 3_600_000,
    failure: undefined,
    failures: Number.POSITIVE_INFINITY,
    hang: false,
  };
}

async function exchanged(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const form = new URLSearchParams(Buffer.concat((await request.toArray()) as Buffer[]).toString());
  sts.requests += 1;
  if (sts.hang) return;
  const fail = (status: number, code: string): void => {
    const text = `<ErrorResponse><Error><Code>${code}</Code><Message>${form.get("WebIdentityToken")}</Message>`;
    response.writeHead(status, { "content-type": "text/xml" }).end(`${text}</Error></ErrorResponse>`);
  };
  if (sts.failure !== undefined && sts.requests <= sts.failures) return fail(...sts.failure);
  if (form.get("Action") !== "AssumeRoleWithWebIdentity" || form.get("Version") !== "2011-06-15")
    return fail(400, "InvalidAction");
  if (form.get("RoleArn") !== roleArn) return fail(403, "AccessDenied");
  const jwks = (await askHttps(issuer.jwksUrl, { ca: issuer.ca })).body as unknown as JSONWebKeySet;
  let kid: string | undefined;
  try {
    const expected = { issuer: issuer.issuer, audience };
    const checked = await jwtVerify(form.get("WebIdentityToken") ?? "", createLocalJWKSet(jwks), expected);
    ({ kid } = checked.protectedHeader);
  } catch {
    return fail(400, "InvalidIdentityToken");
  }
  sts.granted.push({ kid, role: form.get("RoleArn") });
  const keys = { id: `ASIA${valid.size}`, secret: `s/${valid.size}+`, token: `session/${valid.size}==` };
  const endsAtMs = Date.now() + sts.lifeMs;
  valid.set(keys.id, { ...keys, endsAtMs });
  response.writeHead(200, { "content-type": "text/xml" }).end(
    `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
      <AccessKeyId>${keys.id}</AccessKeyId><SecretAccessKey>${keys.secret}</SecretAccessKey>
      <SessionToken>${keys.token}</SessionToken><Expiration>${new Date(endsAtMs).toISOString()}</Expiration>
    </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
  );
}

/** A store whose role is assumed. @returns a read */
function roleOf(identity: WebIdentity | undefined, role = roleArn) {
  const peers = (): never => {
    throw new Error("no peer");
  };
  const set = createStoreSet(Date.now, peers, { webIdentity: identity });
  closing.unshift(() => set.stop());
  const config = {
    ...storeConfig({ name: "eu", region: "eu", url }),
    peer: undefined,
    prometheus: {
      url: `${url}/workspaces/w%20s`,
      timeoutMs: 1_000,
      flavour: "Prometheus",
      headers: {},
      auth: { kind: "awsRole", region, roleArn: role },
    },
  } satisfies QueriedStoreConfig;
  set.apply(new Map([["eu", config]]), {});
  return () => set.get("eu").client.single("vector(1)", 0, storeCall());
}

describe("a store of Amazon Managed Service for Prometheus with a role", () => {
  beforeAll(async () => {
    issuer = await startAuthorizationServer("RS256");
    sts = await startSts();
    const folder = await temporaryFolder("web-identity");
    closing.push(
      () => issuer.close(),
      () => folder.remove(),
    );
    tokenFile = join(folder.path, "token");
    const before = getCACertificates("default");
    setDefaultCACertificates([...before, certificateAuthority.cert]);
    closing.push(() => Promise.resolve(setDefaultCACertificates(before)));
  }, startMsMax);
  const identity = (): WebIdentity => ({ tokenFile, stsUrl: sts.url });
  const reset = (changes: Partial<Sts> = {}): void => {
    const usual = { granted: [], requests: 0, lifeMs: 3_600_000, failure: undefined, hang: false };
    Object.assign(sts, usual, { failures: Number.POSITIVE_INFINITY }, changes);
  };
  const failureOf = (read: () => Promise<unknown>): Promise<string> =>
    read().then(
      (value) => `read ${String(value)}`,
      (error: unknown) => String(error),
    );

  test("is read by keys for a token of a real issuer, fetched once for concurrent reads", async () => {
    reset();
    await project();
    const read = roleOf(identity());
    expect(new Set(await Promise.all(Array.from({ length: 20 }, read)))).toEqual(new Set([1]));
    expect(sts.granted).toEqual([{ kid: "key-1", role: roleArn }]);
    expect(sts.requests).toBe(1);
  });

  test("renews its keys with the newest token before they expire, and no read fails", async () => {
    reset({ lifeMs: 4_000 });
    await project();
    const read = roleOf(identity());
    expect(await read()).toBe(1);
    await issuer.rotate();
    await project();
    const isRenewed = async (): Promise<boolean> => {
      expect(await read()).toBe(1);
      return sts.granted.length >= 3;
    };
    await waitFor(isRenewed, { timeoutMs: 30_000, what: "two renewals" });
    expect(sts.granted.map(({ kid }) => kid).slice(1)).toEqual(["key-2", "key-2"]);
  });

  test.each<readonly [what: string, changes: Partial<Sts>, message: string]>([
    ["fails", { failure: [503, "ServiceUnavailable"] }, "HTTP 503 ServiceUnavailable"],
    // Throttling has the status 400: trinodb/trino#10535, apache/datafusion-comet#6024.
    ["throttles", { failure: [400, "Throttling"] }, "HTTP 400 Throttling"],
    ["hangs", { hang: true }, "no response in 1000 ms"],
  ])("uses its keys until they expire while the Security Token Service %s", async (_what, changes, message) => {
    reset({ lifeMs: 5_000 });
    await project();
    const read = roleOf(identity());
    expect(await read()).toBe(1);
    const startedAtMs = performance.now();
    Object.assign(sts, changes);
    const before = sts.requests;
    const last = await waitFor(
      async () => {
        const text = await failureOf(read);
        return text === "read 1" ? undefined : text;
      },
      { timeoutMs: 30_000, what: "the end of the keys" },
    );
    expect(last).toContain(`no keys of the role ${roleArn} from ${sts.url}: ${message}`);
    // The renewal began before, and did not end the reads.
    expect(performance.now() - startedAtMs).toBeGreaterThan(3_000);
    expect(sts.requests).toBeGreaterThan(before);
    // After a rejection it gets one request a second.
    expect(sts.failure?.[0] === 400 ? sts.requests - before : 0).toBeLessThan(10);
    reset();
    await waitFor(async () => (await failureOf(read)) === "read 1", { timeoutMs: 30_000, what: "new keys" });
  });

  test("replaces keys that the store rejects as expired, once", async () => {
    reset();
    await project();
    const read = roleOf(identity());
    expect(await read()).toBe(1);
    for (const [id, keys] of valid) if (id.startsWith("ASIA")) valid.set(id, { ...keys, endsAtMs: 0 });
    expect(await read()).toBe(1);
    expect(sts.requests).toBe(2);
    reset({ lifeMs: 3_600_000 });
    for (const [id, keys] of valid) if (id.startsWith("ASIA")) valid.set(id, { ...keys, secret: "other" });
    expect(await failureOf(read)).toContain("HTTP 403: ");
    expect(sts.requests).toBe(0);
  });

  // AWS asks for another try: aws/aws-cli#7194, aws-actions/configure-aws-credentials#299.
  test("is read although the Security Token Service could not reach the issuer at first", async () => {
    reset({ failure: [400, "IDPCommunicationError"], failures: 1 });
    await project();
    expect(await failureOf(roleOf(identity()))).toBe("read 1");
    expect(sts.requests).toBe(2);
  });

  test("reports a rejected token, and not the token itself", async () => {
    reset();
    const other = await startAuthorizationServer("RS256");
    closing.push(() => other.close());
    const token = await project(other);
    const text = await failureOf(roleOf(identity()));
    expect(text).toContain(`no keys of the role ${roleArn} from ${sts.url}: HTTP 400 InvalidIdentityToken`);
    expect(text).not.toContain(token.slice(0, 40));
    await project(issuer, "https://other.example");
    expect(await failureOf(roleOf(identity()))).toContain("HTTP 400 InvalidIdentityToken");
    await project();
    expect(await failureOf(roleOf(identity(), `${roleArn}2`))).toContain("HTTP 403 AccessDenied");
  });

  test("reports a missing token and missing settings", async () => {
    reset();
    const missing = { ...identity(), tokenFile: `${tokenFile}2` };
    expect(await failureOf(roleOf(missing))).toContain(`no web identity token in ${tokenFile}2: ENOENT`);
    await writeFile(tokenFile, "");
    expect(await failureOf(roleOf(identity()))).toContain("the content is not a token");
    expect(await failureOf(roleOf(undefined))).toContain("requires metrics.webIdentity in the settings");
    expect(sts.requests).toBe(0);
  });
});
