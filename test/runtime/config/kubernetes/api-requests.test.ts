import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { KubernetesCredentials } from "../../../../runtime/config/kubernetes/api-access.ts";
import { KubernetesRequests, type RequestLimits } from "../../../../runtime/config/kubernetes/api-requests.ts";
import {
  answer,
  frames,
  reset,
  silence,
  startScriptedApi,
  status,
  type Reply,
  type ScriptedApi,
} from "../../../support/scripted-api.ts";
import { selfSignedCertificate } from "../../../support/tls/self-signed-certificate.ts";

const html: Reply = (response) => void response.end("<html>");
const signal = new AbortController().signal;
const bytesMax = 1024;
let stops: (() => Promise<void>)[] = [];
let credentials: KubernetesCredentials;

beforeEach(() => {
  stops = [];
});

afterEach(async () => {
  for (const stop of stops.toReversed()) await stop();
});

async function scripted(options: Parameters<typeof startScriptedApi>[0] = {}): Promise<ScriptedApi> {
  const api = await startScriptedApi(options);
  stops.push(() => api.stop());
  credentials = {
    server: api.url,
    headers: { authorization: "Bearer first" },
    tls: options.tls === undefined ? {} : { ca: options.tls.cert },
  };
  return api;
}

function requestsWith(limits: Partial<RequestLimits> = {}): KubernetesRequests {
  const requests = new KubernetesRequests(
    { namespace: undefined, read: async () => credentials },
    { userAgent: "heliograph/test", limits },
  );
  stops.push(() => requests.close());
  return requests;
}

describe("requests to the API server", () => {
  test("keep their connection and say who they are", async () => {
    const api = await scripted({ tls: selfSignedCertificate(["127.0.0.1"]) });
    api.always("GET", answer(200, { fine: true }));
    const requests = requestsWith();
    for (let count = 0; count < 20; count += 1)
      expect(await requests.json("/x?y=1", bytesMax, signal)).toEqual({ fine: true });
    expect(api.connections()).toBeLessThanOrEqual(2);
    expect(api.requests()[0]?.headers).toMatchObject({
      authorization: "Bearer first",
      "user-agent": "heliograph/test",
    });
  });

  test("take a rotated token without a new connection", async () => {
    const api = await scripted();
    api.always("GET", answer(200, {}));
    const requests = requestsWith({ credentialsAgeMs: 0 });
    await requests.json("/", bytesMax, signal);
    credentials = { ...credentials, headers: { authorization: "Bearer second" } };
    await requests.json("/", bytesMax, signal);
    expect(api.requests().map(({ headers }) => headers.authorization)).toEqual(["Bearer first", "Bearer second"]);
    expect(api.connections()).toBeLessThanOrEqual(2);
  });

  test("read the credentials again after a 401, however young they are", async () => {
    const api = await scripted();
    api.on("GET", status(401, "Unauthorized"), answer(200, {}));
    const requests = requestsWith({ credentialsAgeMs: 3_600_000 });
    await expect(requests.json("/", bytesMax, signal)).rejects.toMatchObject({ kind: "refused", status: 401 });
    credentials = { ...credentials, headers: { authorization: "Bearer second" } };
    await requests.json("/", bytesMax, signal);
    expect(api.requests().at(-1)?.headers.authorization).toBe("Bearer second");
  });

  test("trust a rotated CA from the next request on", async () => {
    const [before, after] = [selfSignedCertificate(["127.0.0.1"]), selfSignedCertificate(["127.0.0.1"])];
    const api = await scripted({ tls: before });
    api.always("GET", answer(200, {}));
    const requests = requestsWith({ credentialsAgeMs: 3_600_000 });
    await requests.json("/", bytesMax, signal);
    api.present(after);
    await expect(requests.json("/", bytesMax, signal)).rejects.toMatchObject({ kind: "unreachable" });
    credentials = { ...credentials, tls: { ca: after.cert } };
    expect(await requests.json("/", bytesMax, signal)).toEqual({});
  });

  test("leave a watch on the old connection when the CA changes", async () => {
    const [certificate, other] = [selfSignedCertificate(["127.0.0.1"]), selfSignedCertificate(["127.0.0.1"])];
    const api = await scripted({ tls: certificate });
    api.always("GET", answer(200, {}));
    api.on("WATCH", frames([{ type: "ADDED", object: {} }]));
    const requests = requestsWith({ credentialsAgeMs: 0 });
    const body = await requests.open("/?watch=true", { silenceMs: 10_000, signal });
    credentials = { ...credentials, tls: { ca: [certificate.cert, other.cert].join("") } };
    await requests.json("/", bytesMax, signal);
    expect(api.connections()).toBe(2);
    for await (const chunk of body) {
      expect(Buffer.from(chunk).toString()).toContain("ADDED");
      break;
    }
  });

  test.each([
    [
      "a busy server, with the time it asks for",
      status(429, "TooManyRequests", 7),
      { kind: "busy", status: 429, retryAfterMs: 7000 },
    ],
    ["a failing server", status(503, "ServiceUnavailable"), { kind: "busy", status: 503, retryAfterMs: 0 }],
    ["a state that is too old", status(410, "Expired"), { kind: "gone" }],
    [
      "a missing right",
      status(403, "Forbidden"),
      { kind: "refused", message: "GET /: 403 Forbidden scripted Forbidden" },
    ],
    ["a broken connection", reset(), { kind: "unreachable" }],
    ["silence", silence(), { kind: "unreachable", message: expect.stringContaining("UND_ERR_HEADERS_TIMEOUT") }],
    ["what is not JSON", html, { kind: "unreachable" }],
    ["an answer beyond its bound", answer(200, "x".repeat(bytesMax)), { kind: "refused" }],
  ])("fail for %s", async (_name, reply, fault) => {
    const api = await scripted();
    api.on("GET", reply);
    const requests = requestsWith({ responseMs: 200 });
    await expect(requests.json("/", bytesMax, signal)).rejects.toMatchObject({ name: "KubernetesFault", ...fault });
  });

  test("fail with a sentence when the credentials cannot be read", async () => {
    const requests = new KubernetesRequests(
      { namespace: undefined, read: () => Promise.reject(new Error("no token")) },
      { userAgent: "test" },
    );
    await expect(requests.json("/", bytesMax, signal)).rejects.toMatchObject({
      kind: "unreachable",
      message: "GET /: no token",
    });
  });
});
