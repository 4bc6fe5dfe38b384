import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { QueriedStoreConfig } from "../../../../crds/config.ts";
import { createStoreHttp } from "../../../../runtime/stores/prometheus/store-http.ts";
import { exchangeAuthorized } from "../../../../runtime/stores/authorization/exchange-authorized.ts";
import { createStoreSet } from "../../../../runtime/stores/store.ts";
import { listenOnLoopback } from "../../../support/loopback.ts";
import { startPrometheus, type PrometheusHandle } from "../../../support/prometheus.ts";
import { run } from "../../../tools/run.ts";
import { storeConfig } from "../../metrics/oracle/universe.ts";
import { storeCall } from "../store-call.ts";

const goMsMax = 240_000;
const startMsMax = 60_000;
const region = "eu-west-1";
const accepted = { id: "AKIDREADER", secret: "a/secret+key", token: "session//token==" };
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
  const target = `${prometheus.url}${path.replace("/workspaces/w%20s", "")}`;
  const init = { method, headers: { "content-type": contentType }, ...(method === "POST" ? { body } : {}) };
  const answer = await fetch(target, init);
  response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
}

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
const form =
  /^AWS4-HMAC-SHA256 Credential=(?<id>\w+)\/(?<scope>[^,]+), SignedHeaders=(?<names>[^,]+), Signature=(?<mac>\w{64})$/u;

/** A second verifier, written from the steps of the specification. */
function fault(request: IncomingMessage, body: string): string | undefined {
  const { authorization = "", "x-amz-security-token": token, "x-amz-date": date } = request.headers;
  const parts = form.exec(authorization)?.groups;
  if (parts?.["id"] !== accepted.id) return "Missing Authentication Token";
  if (token !== accepted.token) return "The security token included in the request is invalid";
  const stamp = String(date);
  const at = Date.parse(stamp.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/u, "$1-$2-$3T$4:$5:$6Z"));
  if (Math.abs(Date.now() + proxyAheadMs - at) > 300_000) return `Signature expired: ${stamp}`;
  const [scope = "", canonical] = [parts["scope"], canonicalOf(request, parts["names"] ?? "", body)];
  const key = scope
    .split("/")
    .reduce(
      (last: string | Buffer, part) => createHmac("sha256", last).update(part).digest(),
      `AWS4${accepted.secret}`,
    );
  const text = `AWS4-HMAC-SHA256\n${stamp}\n${scope}\n${sha(canonical)}`;
  if (createHmac("sha256", key).update(text).digest("hex") === parts["mac"]) return undefined;
  return `The signature does not match.\n\nThe Canonical String for this request should have been\n'${canonical}'`;
}

function canonicalOf({ method, url: target = "", headers }: IncomingMessage, names: string, body: string): string {
  const { pathname, search } = new URL(target, url);
  const strict = (text: string): string => text.replaceAll("*", "%2A").replaceAll("%7E", "~");
  const query = search.slice(1).split("&").filter(Boolean).map(strict).sort().join("&");
  const lines = names.split(";").map((name) => `${name}:${String(headers[name])}`);
  return [method, pathname.replaceAll("%", "%25"), query, ...lines, "", names, sha(body)].join("\n");
}

/** A set with a store of AWS keys. */
function setOf() {
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
        url: `${url}/workspaces/w%20s/`,
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
