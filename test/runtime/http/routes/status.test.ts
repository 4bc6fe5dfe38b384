import { createHash } from "node:crypto";
import type { StatusAnswer } from "../../../../api/objectives.ts";
import type { SloConfig } from "../../../../crds/config.ts";
import { afterEach, describe, expect, test } from "vitest";
import { text } from "../../stores/scripted-store.ts";
import { simulated, startMetricsServer, type HttpAnswer, type ScriptedMetricsServer } from "./metrics-server.ts";

/** The status page of a tenant: public objectives without a token (Operational Metrics API §4.5 and §8). */

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const closing: ScriptedMetricsServer[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()));
});

type Ask = (url: string, headers?: Readonly<Record<string, string>>) => Promise<HttpAnswer>;

/** @param change of the objective `login` */
async function start(
  change?: string | Partial<SloConfig>,
): Promise<{ readonly server: ScriptedMetricsServer; readonly ask: Ask }> {
  const server = await startMetricsServer({ eu: simulated(() => ({ services: ["a"] })) }, { now: () => nowMs });
  closing.push(server);
  if (change !== undefined) {
    const changed = typeof change === "string" ? { title: change } : change;
    const { config } = server;
    const catalogs = config.catalogs.map((catalog) => ({
      ...catalog,
      slos: catalog.slos.map((slo) => ({ ...slo, ...changed })),
    }));
    server.apply({ ...config, catalogs });
  }
  return { server, ask: (url, headers = {}) => server.get(url, headers) };
}

describe("the status page", () => {
  test("shows the public objectives of a tenant without a token and without scripts", async () => {
    const { ask } = await start("Logging in");
    const page = await ask("/status/brand-a", { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect(page.status).toBe(200);
    expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(page.text).toContain("<h1>Status of brand-a</h1>");
    expect(page.text).toContain("<h2>Logging in</h2>");
    expect(page.text).toContain("The objective is 99 % over 30 days.");
    expect(page.text).not.toContain("<script");
  });

  test("names the calendar window of an objective", async () => {
    const { ask } = await start({ calendar: { period: "Quarter", timeZone: "Europe/Berlin" }, windowDays: 90 });
    const [page, body] = [await ask("/status/brand-a"), await ask("/v1/status/brand-a")];
    expect(page.text).toContain("The objective is 99 % in each calendar quarter (Europe/Berlin).");
    expect((body.json() as StatusAnswer).data[0]).toMatchObject({
      window_days: 90,
      calendar: {
        period: "Quarter",
        time_zone: "Europe/Berlin",
        from: "2025-12-31T23:00:00.000Z",
        to: "2026-03-31T22:00:00.000Z",
      },
    });
  });

  test("allows its own style alone", async () => {
    const { ask } = await start();
    const { text: page, headers } = await ask("/status/brand-a");
    const style = /<style>(.*?)<\/style>/su.exec(page)?.[1] ?? "";
    const digest = createHash("sha256").update(style).digest("base64");
    expect(headers["content-security-policy"]).toContain(`default-src 'none'; style-src 'sha256-${digest}';`);
  });

  test("is cacheable, and 304 to those who have its bytes", async () => {
    const { ask } = await start();
    const first = await ask("/status/brand-a");
    expect(first.headers["cache-control"]).toMatch(/^public, .*s-maxage=60/u);
    const again = await ask("/status/brand-a", { "if-none-match": String(first.headers["etag"]) });
    expect(again.status).toBe(304);
  });

  test("has a machine-readable twin", async () => {
    const { ask } = await start("Logging in");
    const { status, json } = await ask("/v1/status/brand-a");
    expect(status).toBe(200);
    expect(json()).toMatchObject({
      tenant: "brand-a",
      data: [{ name: "login", title: "Logging in", domain: "auth", objective: 0.99, missing_regions: [] }],
    });
  });

  test("names what does not count, next to the figures with all events", async () => {
    const corrections = [
      { reason: "Move <db>", from: "2026-01-01T11:00:00Z", to: "2026-01-01T12:30:00Z" },
      { reason: "Years ago", from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" },
    ];
    const { ask } = await start({ corrections });
    const { text: page } = await ask("/status/brand-a");
    expect(page).toContain("<p>Not counted: Move &#60;db&#62;, 1 h of this time. In progress until ");
    expect(page).toContain('<time datetime="2026-01-01T12:30:00.000Z">2026-01-01 12:30 UTC</time>');
    expect(page).toMatch(/<p>With this time counted: [\d.]+ % good, [-\d.]+ % of the error budget left\.<\/p>/u);
    expect(page).not.toContain("Years ago");
    const { json } = await ask("/v1/status/brand-a");
    const [item] = (json() as StatusAnswer).data;
    expect(item?.corrections).toEqual([
      {
        reason: "Move <db>",
        active: true,
        seconds: 3_600,
        from: "2026-01-01T11:00:00.000Z",
        to: "2026-01-01T12:30:00.000Z",
      },
    ]);
    expect(Object.keys(item?.uncorrected ?? {})).toEqual(["sli", "budget_remaining"]);
  });

  test("shows one figure for an objective without corrections", async () => {
    const { ask } = await start();
    const { text: page } = await ask("/status/brand-a");
    expect(page).toMatch(/<p>[\d.]+ % good\. The objective is 99 % over 30 days\.<\/p>/u);
    expect(page).not.toContain("counted");
  });

  test("names the regions of an objective that has a view for each", async () => {
    const reply = simulated(() => ({ services: ["a"] }));
    const server = await startMetricsServer({ eu: reply, latam: reply }, { now: () => nowMs });
    closing.push(server);
    const catalogs = server.config.catalogs.map((catalog) => ({
      ...catalog,
      metrics: catalog.metrics.map(({ complianceScope: _none, ...metric }) => metric),
    }));
    server.apply({ ...server.config, catalogs });
    const { text: page } = await server.get("/status/brand-a", {});
    expect(page.match(/<h2>[^<]+<\/h2>/gu)).toEqual(["<h2>login (eu)</h2>", "<h2>login (latam)</h2>"]);
  });

  test("writes a title that looks like markup as text", async () => {
    const { ask } = await start(`<img src=x onerror="alert('1')">&`);
    const { text: page } = await ask("/status/brand-a");
    expect(page).not.toContain("<img");
    expect(page).toContain("&#60;img src=x onerror=&#34;alert(&#39;1&#39;)&#34;&#62;&#38;");
  });

  test.each(["/status/", "/v1/status/"])("%s is one and the same 404 for every name without one", async (prefix) => {
    const { ask } = await start();
    const names = ["brand-b", "nobody", "a%20b", "%3Cb%3E", "x".repeat(90), "someone%40mail.example", "*", "-"];
    const answers = await Promise.all(names.map((name) => ask(`${prefix}${name}`)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
  });

  test("shows nothing of an objective that names no tenants", async () => {
    const { server, ask } = await start();
    const { config } = server;
    const absent = await ask("/status/nobody");
    server.apply({
      ...config,
      catalogs: config.catalogs.map((catalog) => ({
        ...catalog,
        slos: catalog.slos.map(({ publicTenants: _none, ...slo }) => slo),
      })),
    });
    const page = await ask("/status/brand-a");
    expect(page.status).toBe(404);
    expect(page.text).toBe(absent.text);
  });

  test("does not say that all is well while the data of a region is missing", async () => {
    const { ask } = await start();
    expect((await ask("/status/brand-a")).text).toContain("All services are within their objectives.");
    const replies = { eu: simulated(() => ({ services: ["a"] })), latam: text(500, "no") };
    const half = await startMetricsServer(replies, { now: () => nowMs });
    closing.push(half);
    const page = await half.get("/status/brand-a", {});
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("Data of latam is missing.")]);
    expect(page.text).toContain("within their objectives as far as known. Data of some regions is missing.");
  });

  test("says that the status is unknown while no store answers, and is not stored then", async () => {
    const server = await startMetricsServer({ eu: text(500, "no") }, { now: () => nowMs });
    closing.push(server);
    const page = await server.get("/status/brand-a", {});
    expect(page.status).toBe(503);
    expect(page.headers["cache-control"]).toBe("no-store");
    expect(page.text).toContain("The status is temporarily unavailable.");
    expect((await server.get("/v1/status/brand-a", {})).status).toBe(502);
  });
});
