import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout } from "node:timers/promises";
import { request as undiciRequest } from "undici";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { plainObject } from "../crds/valid-objects.ts";
import { freePort } from "../support/free-port.ts";
import type { PrometheusHandle } from "../support/prometheus.ts";
import { cpuQuery, startCpuStore } from "./cpu-store.ts";
import { get, makeInstallation, type Installation } from "./installation.ts";

let store: PrometheusHandle;
let installation: Installation;

beforeAll(async () => {
  store = await startCpuStore();
});

afterAll(async () => store.stop());

beforeEach(async () => {
  installation = await makeInstallation();
});

afterEach(async () => installation.remove());

/** A catalog of one metric over these stores by region. */
const catalog = (stores: Readonly<Record<string, string>>, timeoutSeconds = 1) =>
  JSON.stringify(
    plainObject("MetricCatalog", {
      stores: Object.entries(stores).map(([region, url]) => ({
        name: region,
        region,
        prometheus: { url, timeoutSeconds },
      })),
      "metrics[0].labels": ["region", "tenant", "service"],
      ...(Object.keys(stores).length > 1 ? { "metrics[0].complianceScope": { regions: Object.keys(stores) } } : {}),
    }),
  );

async function ask(stores: Readonly<Record<string, string>>) {
  await installation.write("catalog.yaml", catalog(stores));
  const { line } = await installation.start();
  return get(`${line.url}/v1/metrics/query?${cpuQuery}`, await installation.token({ tenants: ["lumen"] }));
}

describe("a query of the running program", () => {
  test("is served from a real store", async () => {
    const { status, headers, body } = await ask({ eu: store.url });
    expect(status).toBe(200);
    expect(headers["x-partial"]).toBe("false");
    const [series] = body["data"] as { readonly points: readonly (readonly [string, number])[] }[];
    expect(series?.points.every(([, value]) => value === 0.5)).toBe(true);
    expect(series?.points.length).toBeGreaterThan(4);
  });

  test("is partial (206) when one of two stores is down (Operational Metrics API §7)", async () => {
    const { status, headers, body } = await ask({ eu: store.url, latam: `http://127.0.0.1:${await freePort()}` });
    expect(status).toBe(206);
    expect(headers["x-partial"]).toBe("true");
    expect(body["data"]).toHaveLength(1);
  });

  test("is 502 without a cheaper query when every store is down, and the program stays ready", async () => {
    await installation.write("catalog.yaml", catalog({ eu: `http://127.0.0.1:${await freePort()}` }));
    const { line } = await installation.start();
    const { status, headers, body } = await get(
      `${line.url}/v1/metrics/query?${cpuQuery}`,
      await installation.token({ tenants: ["lumen"] }),
    );
    expect({ status, code: body["code"] }).toEqual({ status: 502, code: "store_failed" });
    expect(headers["retry-after"]).toMatch(/^\d+$/u);
    expect(headers["x-suggested-step"]).toBeUndefined();
    expect((await get(`${line.admin_url}/readyz`)).status).toBe(200);
  });

  test.each([
    [undefined, 504, "store_timeout"],
    [8_000, 200, undefined],
  ])("waits for its stores until metrics.deadlineMs of the settings: %s", async (deadlineMs, expected, code) => {
    const slow = await startSlowStore(store.url, 2_500);
    await installation.write("catalog.yaml", catalog({ eu: slow.url }, 10));
    await mkdir(installation.data, { recursive: true });
    const file = join(installation.data, "settings.yaml");
    await writeFile(file, deadlineMs === undefined ? "name: slow\n" : `metrics: { deadlineMs: ${deadlineMs} }\n`);
    const { line } = await installation.start("--settings", file);
    const answer = await get(
      `${line.url}/v1/metrics/query?${cpuQuery}`,
      await installation.token({ tenants: ["lumen"] }),
    );
    expect([answer.status, answer.body["code"]]).toEqual([expected, code]);
    slow.close();
  });
});

/** A store that answers range queries this much later. */
async function startSlowStore(
  url: string,
  delayMs: number,
): Promise<{ readonly url: string; readonly close: () => void }> {
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "GET", headers, url: path = "" } = request;
    if (path.includes("query_range")) await setTimeout(delayMs);
    const {
      statusCode,
      headers: answered,
      body,
    } = await undiciRequest(`${url}${path}`, { method: method as "GET", headers, body: request });
    response.writeHead(statusCode, answered as OutgoingHttpHeaders);
    await pipeline(body, response);
  };
  const server = createServer((request, response) => void forward(request, response).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
