import { readFile } from "node:fs/promises";
import { expect, vi } from "vitest";
import type { Locator, Page } from "playwright-core";
import type { CatalogChecksAnswer } from "../../api/catalog.ts";
import type { QueryAnswer } from "../../api/queries.ts";
import type { PageAction } from "./console-visitor.ts";

const dearQuery = "metric=auth_success_rate&range=1h&filter%5Btenant%5D=lumen&step=15s";
const costlyQuery = "metric=auth_success_rate&range=1h&filter%5Btenant%5D=lumen&step=2m";
const hostile = `<img src=x onerror="document.title='broken'">`;
const quotaEdit = (name: string): string =>
  `apiVersion: heliograph.dev/v1alpha1\nkind: QueryClassQuota\nmetadata: { name: ${JSON.stringify(name)} }\n` +
  "spec: { class: C, limits: { maxSeries: 7 } }\n";

const ownSecret = "apiVersion: v1\nkind: Secret\nmetadata: { name: key }\nstringData: { key: never-read }\n";

/** What readers do on the pages of metrics, objectives, quotas and previews. */
/** Columns of the legend that the screen has room for. */
async function shownHeaders(page: Page): Promise<readonly string[]> {
  const headers = page.locator(".legend-table thead th").filter({ visible: true });
  return headers.allInnerTexts();
}

export const metricActions: readonly PageAction[] = [
  {
    name: "picks a metric of the catalog, runs it, and gets the points of the API as a chart and a table",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      await visit(tab, {
        name: "catalog",
        path: "/explorer?find=settle",
        reader: "tenant",
        heading: "Explorer",
        sees: [],
      });
      await page.getByRole("link", { name: "bet_settle_p99_ms" }).click();
      await page.getByText("Estimated cost").waitFor();
      await page.locator(".chart canvas").waitFor();
      await page.getByRole("checkbox", { name: "region" }).check();
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.url().includes("/v1/metrics/query?")),
        page.getByRole("button", { name: "Run query" }).click(),
      ]);
      await page.getByRole("rowheader", { name: "region=latam" }).first().waitFor();
      await page.getByText("Data table").click();
      const { data } = (await answer.json()) as { data: readonly { points: readonly unknown[] }[] };
      const points = data.reduce((sum, series) => sum + series.points.length, 0);
      expect(points).toBeGreaterThan(0);
      expect(await tableValues(page)).toBe(points);
      expect(new URL(page.url()).searchParams.get("group_by")).toBe("region");
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "chooses a filter among the values that the stores hold",
    run: async ({ open, visit }) => {
      const tab = await open();
      const path = "/explorer?metric=auth_success_rate&filter%5Btenant%5D=lumen";
      await visit(tab, { name: "explorer", path, heading: "Explorer", sees: ["Estimated cost"] });
      const region = tab.page.getByRole("combobox", { name: "Region" });
      expect(await region.locator("option").allTextContents()).toEqual(["All", "eu", "latam"]);
      await tab.page.getByText("More filters").click();
      const field = tab.page.locator('input[name="filter[device]"]');
      await field.focus();
      await tab.page.locator('datalist option[value="ios"]').waitFor({ state: "attached" });
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "is refused a dear query, takes the cheaper one by its button, and gets an answer",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const asked: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      const path = `/explorer?${dearQuery}`;
      await visit(tab, { name: "refused", path, heading: "Explorer", sees: ["Query rejected"] });
      expect(asked).toContain("/v1/metrics/plan");
      expect(asked).not.toContain("/v1/metrics/query");
      await page.getByRole("button", { name: /^Run with a step of \S+$/u }).click();
      await page.getByText("newest sample").waitFor();
      expect(new URL(page.url()).searchParams.get("step")).not.toBe("15s");
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "has too few cost units for a query, takes the cheaper one by its button, and gets its answer",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const path = `/explorer?${costlyQuery}`;
      await visit(tab, {
        name: "costly",
        path,
        reader: "frugal",
        heading: "Explorer",
        sees: ["Query rejected: Cost limit exceeded", "the burst limit is 100", "100 of 100 units left"],
      });
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.url().includes("/v1/metrics/query?")),
        page.getByRole("button", { name: /^Run with a step of .+$/u }).click(),
      ]);
      expect(answer.status()).toBe(200);
      await page.locator(".chart canvas").waitFor();
      expect(new URL(answer.url()).searchParams.get("step")).not.toBe("2m");
      expect(await page.getByText("Query rejected").count()).toBe(0);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "follows a metric reads it again one request at a time, and never while the tab is hidden",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const path = "/explorer?metric=auth_success_rate&filter%5Btenant%5D=lumen&refresh=10s";
      await page.clock.install();
      await visit(tab, { name: "follow", path, reader: "tenant", heading: "Explorer", sees: ["newest sample"] });
      const queries = queriesOf(page);
      const held = Promise.withResolvers<undefined>();
      await page.route("**/v1/metrics/query?**", async (route) => {
        await held.promise;
        await route.continue();
      });
      const isQuery = (one: { url: () => string }): boolean => one.url().includes("/v1/metrics/query?");
      await Promise.all([page.waitForRequest(isQuery), page.clock.runFor("00:11")]);
      // The response takes longer than two intervals, and less than the longest wait for one.
      await page.clock.runFor("00:28");
      expect(queries).toHaveLength(1);
      await setVisibility(page, "hidden");
      const first = page.waitForResponse(isQuery);
      held.resolve(undefined);
      await first;
      await page.clock.runFor("02:00");
      expect(queries).toHaveLength(1);
      await Promise.all([page.waitForResponse(isQuery), setVisibility(page, "visible")]);
      expect(new Set(queries).size, "later ends of the range").toBe(2);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "drags over a chart zooms in, also where no store has samples, and gets back",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const path = "/explorer?metric=auth_success_rate&filter%5Btenant%5D=lumen&group_by=region&range=24h&refresh=10s";
      await visit(tab, { name: "zoom", path, reader: "tenant", heading: "Explorer", sees: ["newest sample"] });
      await dragOver(page, [0.5, 1]);
      await page.waitForURL((url) => url.searchParams.has("from") && !url.searchParams.has("range"));
      const { searchParams } = new URL(page.url());
      const hours = (Date.parse(searchParams.get("to") ?? "") - Date.parse(searchParams.get("from") ?? "")) / 3_600_000;
      expect(hours).toBeGreaterThan(11.5);
      expect(hours).toBeLessThan(12.5);
      expect(await page.getByRole("combobox", { name: "Auto-refresh" }).isDisabled()).toBe(true);
      const series = page.getByRole("button", { name: "region=latam" });
      await series.click();
      expect(await series.getAttribute("aria-pressed")).toBe("false");
      await dragOver(page, [0.05, 0.4]);
      await page.getByText("No series").waitFor();
      await page.getByRole("link", { name: "1 h" }).click();
      await page.locator(".chart canvas").waitFor();
      expect(new URL(page.url()).searchParams.has("from")).toBe(false);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "has no mouse hides and shows series, zooms in, and gets back",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const path = "/explorer?metric=auth_success_rate&filter%5Btenant%5D=lumen&group_by=region&range=1h";
      await visit(tab, { name: "zoom", path, reader: "tenant", heading: "Explorer", sees: ["newest sample"] });
      const [eu, latam] = [
        page.getByRole("button", { name: "region=eu" }),
        page.getByRole("button", { name: "region=latam" }),
      ];
      const pressed = async () => [await eu.getAttribute("aria-pressed"), await latam.getAttribute("aria-pressed")];
      const hasFocus = (one: Locator) => one.evaluate((element) => element === document.activeElement);
      for (const [key, shown] of [
        ["Space", ["true", "false"]],
        ["Enter", ["true", "true"]],
        ["Shift+Enter", ["false", "true"]],
        ["Shift+Enter", ["true", "true"]],
      ] as const) {
        await latam.press(key);
        await expect.poll(pressed).toEqual(shown);
        expect(await hasFocus(latam)).toBe(true);
      }
      const minutes = (): number => {
        const { searchParams } = new URL(page.url());
        return Math.round(
          (Date.parse(searchParams.get("to") ?? "") - Date.parse(searchParams.get("from") ?? "")) / 60_000,
        );
      };
      const zoomIn = page.getByRole("button", { name: "Zoom in" });
      for (const [key, shown] of [
        ["Enter", 30],
        ["Space", 15],
      ] as const) {
        await zoomIn.press(key);
        await expect.poll(minutes).toBe(shown);
        expect(await hasFocus(zoomIn)).toBe(true);
      }
      await page.getByRole("button", { name: "Zoom out" }).press("Enter");
      await expect.poll(minutes).toBe(30);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "saves an answer as CSV, with as many points as the chart has",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const path = "/explorer?metric=cpu_util&filter%5Btenant%5D=lumen&group_by=region";
      await visit(tab, { name: "csv", path, reader: "tenant", heading: "Explorer", sees: ["newest sample"] });
      await page.getByText("Data table").click();
      await page.getByRole("heading", { name: "Export" }).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download CSV" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("cpu_util.csv");
      const [titles, ...lines] = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n");
      expect(titles).toBe("metric,region,timestamp,value");
      expect(lines.length).toBeGreaterThan(0);
      expect(lines).toHaveLength(await tableValues(page));
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "looks for metrics that differ from their stores sees which store, why and since when",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const checkedAt = new Date(Date.now() - 90_000).toISOString();
      const differs = { store: "eu", status: "False", check: "labels", message: "no series has the label psp" };
      await page.route("**/v1/metrics/catalog/checks", async (route) => {
        const answer = await route.fetch();
        // A server compares a metric within five minutes, which is longer than the test.
        const { data, meta } = (await answer.json()) as CatalogChecksAnswer;
        const ids = data.map(({ metric_id: id }) => id);
        const checks = data.map((one) => ({
          ...one,
          ...(one.metric_id === "cpu_util" ? { ...differs, message: `eu: ${differs.message}` } : { status: "True" }),
          stores: one.metric_id === "cpu_util" ? [{ ...differs, checked_at: checkedAt }] : [],
        }));
        expect(ids.length).toBe(meta.total);
        await route.fulfill({ json: { data: checks, meta: { ...meta, failed: 1, unknown: 0 } } });
      });
      await visit(tab, {
        name: "catalog",
        path: "/explorer",
        heading: "Explorer",
        sees: [/1 of \d+ metrics differs/u],
      });
      const all = await page.getByRole("row").count();
      await page.getByRole("link", { name: "Show what differs" }).click();
      await page.waitForURL(/[?&]stores=False/u);
      expect(await page.getByRole("row").count()).toBeLessThan(all);
      expect(await page.locator("select[name=stores]").inputValue()).toBe("False");
      await page.getByRole("link", { name: "cpu_util" }).click();
      const table = page.getByRole("table", { name: "Stores of the metric" });
      await table.waitFor();
      expect(await table.getByRole("row").nth(1).innerText()).toMatch(
        /eu\s+differs\s+missing label\s+no series has the label psp\s+\d+ (?:s|min)/u,
      );
      expect(await tab.audit()).toEqual([]);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "compares the top series with an earlier window, and saves them",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const path =
        "/explorer?metric=cpu_util&filter%5Btenant%5D=lumen&group_by=service,component" +
        "&range=15m&step=2m&compare=10m";
      await visit(tab, { name: "compare", path, reader: "tenant", heading: "Explorer", sees: ["10 min earlier"] });
      expect(await page.getByLabel("Compare with").inputValue()).toBe("10m");
      await page.getByLabel("Top series").selectOption({ label: "3 highest by avg" });
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.url().includes("/v1/metrics/query?")),
        page.getByRole("button", { name: "Run query" }).click(),
      ]);
      const { data } = (await answer.json()) as QueryAnswer;
      expect(data.map(({ rank }) => rank)).toEqual([1, 2, 3]);
      await page.getByText("not among the top: averages").waitFor();
      const address = new URL(page.url()).searchParams;
      expect(["top", "by", "order", "compare"].map((name) => address.get(name))).toEqual(["3", "avg", null, "10m"]);
      expect(await page.locator(".legend-table .swatch.dashed").count()).toBe(data.length);
      expect(await shownHeaders(page)).toEqual(["Series", "Min", "Max", "Mean", "Last", "Change", "At pointer"]);
      const wide = page.viewportSize();
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await shownHeaders(page)).toEqual(["Series", "Last", "Change"]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
      if (wide !== null) await page.setViewportSize(wide);
      await page.getByText("Data table").click();
      await page
        .getByRole("columnheader", { name: /, change$/u })
        .first()
        .waitFor();
      await page.getByRole("heading", { name: "Export" }).click();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "Download CSV" }).click(),
      ]);
      const [titles] = (await readFile(await download.path(), "utf8")).split("\r\n");
      expect(titles).toBe("metric,component,service,timestamp,value,rank,previous,change,change_ratio");
      expect(await tab.audit()).toEqual([]);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "of one tenant gets nothing of another one on any metrics page",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const query = "/explorer?metric=auth_success_rate&filter%5Btenant%5D=vega";
      await visit(tab, {
        name: "other",
        path: query,
        reader: "tenant",
        heading: "Explorer",
        sees: ["Query rejected"],
      });
      expect(await page.locator(".chart canvas").count()).toBe(0);
      await visit(tab, {
        name: "slos",
        path: "/slos?tenant=vega",
        reader: "tenant",
        heading: "SLOs",
        sees: ["not allowed to read the tenant vega"],
      });
      expect(await page.getByRole("table", { name: "Objectives" }).count()).toBe(0);
      await visit(tab, { name: "slos", path: "/slos", reader: "tenant", heading: "SLOs", sees: ["Logging in"] });
      await visit(tab, { name: "quotas", path: "/quotas", reader: "tenant", heading: "Quotas", sees: ["lumen-desk"] });
      expect(await page.locator("main").innerText()).not.toContain("vega");
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "reads who used a metric, by group, and opens it in the explorer",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      const query = "/explorer?metric=auth_success_rate&filter%5Btenant%5D=lumen";
      await visit(tab, { name: "explorer", path: query, heading: "Explorer", sees: ["Estimated cost"] });
      await page.getByRole("button", { name: "Run query" }).click();
      const table = page.getByRole("table", { name: "Usage" });
      const row = table.getByRole("link", { name: "auth_success_rate" });
      await expect
        .poll(
          async () => {
            await visit(tab, { name: "usage", path: "/usage?group_by=metric", heading: "Usage", sees: ["Group by"] });
            await page.locator("main .reading[aria-busy=false]").waitFor();
            return row.count();
          },
          { timeout: 15_000 },
        )
        .toBe(1);
      await page.getByRole("group", { name: "Group by" }).getByRole("link", { name: "Tenant" }).click();
      await table.getByRole("columnheader", { name: "Tenant" }).waitFor();
      expect(new URL(page.url()).searchParams.get("group_by")).toBe("metric,tenant");
      await page.setViewportSize({ width: 390, height: 844 });
      expect(await row.first().isVisible()).toBe(true);
      await page.setViewportSize({ width: 1_280, height: 800 });
      await table.getByRole("link", { name: "lumen" }).first().click();
      expect(new URL(page.url()).searchParams.get("tenant")).toBe("lumen");
      await expect.poll(() => row.count()).toBe(1);
      // A part of a name finds the metric.
      await page.getByRole("textbox", { name: "Metric" }).fill("auth");
      await page.getByRole("button", { name: "Apply" }).click();
      await page.getByText("No usage").waitFor();
      await page.locator(".empty").getByRole("link", { name: "auth_success_rate" }).click();
      await expect.poll(() => row.count()).toBe(1);
      await row.click();
      expect(new URL(page.url()).searchParams.get("metric")).toBe("auth_success_rate");
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "previews an edit written as YAML and gets its effect at an address of its own",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      await visit(tab, { name: "preview", path: "/preview", heading: "Preview of an edit", sees: [] });
      await page.getByLabel("Edited resources, YAML").fill(`kind: Secret\nmetadata: { name: x }\n`);
      await page.getByRole("button", { name: "Preview" }).click();
      await page
        .getByText(/line 1: .*kind Secret/u)
        .first()
        .waitFor();
      await page.getByLabel("Edited resources, YAML").fill(`${ownSecret}---\n${quotaEdit("analytics")}`);
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByText("limits.maxSeries").first().waitFor();
      await page.getByText("completed").first().waitFor();
      expect(page.url()).toMatch(/\/console\/preview\/[\w-]+$/u);
      await page.setViewportSize({ width: 390, height: 844 });
      const value = page.locator(".field-rows tr").filter({ hasText: "limits.maxSeries" }).locator("td").last();
      await value.getByText("7", { exact: true }).waitFor();
      const box = await value.boundingBox();
      expect((box?.x ?? 390) + (box?.width ?? 0), "the right end of the new value").toBeLessThanOrEqual(390);
      expect(await tab.audit()).toEqual([]);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "sees hostile texts of stores, catalogs and edits as texts",
    run: async ({ open, visit }) => {
      const tab = await open();
      const { page } = tab;
      await page.route("**/v1/metrics/**", async (route) => {
        const response = await route.fetch();
        // As if a store, a catalog or an objective held it.
        const text = JSON.stringify(hostile).slice(1, -1);
        const body = (await response.text()).replaceAll(
          /"(?:Share of login attempts[^"]*|eu|Logging in)"/gu,
          `"${text}"`,
        );
        await route.fulfill({ response, body });
      });
      const rows = [
        { path: "/explorer", heading: "Explorer" },
        {
          path: "/explorer?metric=auth_success_rate&filter%5Btenant%5D=lumen&group_by=region",
          heading: "Explorer",
        },
        { path: "/slos?tenant=lumen", heading: "SLOs" },
        { path: "/slos/login?tenant=lumen", heading: `SLO ${hostile}` },
      ];
      for (const row of rows) await visit(tab, { ...row, name: "hostile", sees: [hostile] });
      const unknown = `/explorer?metric=${encodeURIComponent(hostile)}`;
      await visit(tab, { name: "hostile", path: unknown, heading: "Explorer", sees: [`No metric ${hostile}`] });
      expect(await page.title()).toBe("Explorer · Heliograph");
      expect(await page.locator("main img").count()).toBe(0);
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
  {
    name: "asks while a store is away sees the rest of the answer and which region is missing",
    run: async ({ open, visit, installation }) => {
      const tab = await open();
      const { page } = tab;
      const path = "/explorer?metric=cache_hit_ratio&filter%5Btenant%5D=lumen&group_by=region";
      await installation.withoutStore("latam", async () => {
        const [answer] = await Promise.all([
          page.waitForResponse((response) => response.url().includes("/v1/metrics/query?")),
          visit(tab, { name: "partial", path, heading: "Explorer", sees: ["Regions are missing"] }),
        ]);
        expect(answer.status()).toBe(206);
        await page.locator(".chart figcaption", { hasText: "Incomplete: latam" }).waitFor();
        const notice = page.locator(".notice", { hasText: "Regions are missing" });
        expect((await notice.locator("li").allInnerTexts()).map((text) => text.replaceAll(/\s+/gu, " "))).toEqual([
          "latam failed",
        ]);
        await page.getByText("Data table").click();
        expect(await tableValues(page)).toBeGreaterThan(0);
        expect(await tab.audit()).toEqual([]);
      });
      expect(tab.faults).toEqual([]);
      await tab.close();
    },
  },
];

/** The addresses of queries from now on. */
function queriesOf(page: Page): readonly string[] {
  const queries: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/v1/metrics/query?")) queries.push(request.url());
  });
  return queries;
}

async function setVisibility(page: Page, state: "hidden" | "visible"): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, "visibilityState", { value, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
}

/** Drags over the chart, also if new data has just replaced it. @param from and to are shares of its width */
async function dragOver(page: Page, [from, to]: readonly [number, number]): Promise<void> {
  const plot = page.locator(".chart .u-over");
  const box = await vi.waitFor(
    async () => {
      await plot.scrollIntoViewIfNeeded({ timeout: 1_000 });
      const found = await plot.boundingBox();
      if (found === null) throw new Error("the chart is not drawn");
      return found;
    },
    { timeout: 10_000 },
  );
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + from * box.width + 1, y);
  await page.mouse.down();
  await page.mouse.move(box.x + to * box.width - 1, y, { steps: 5 });
  await page.mouse.up();
}

/** Values in the table of the chart, without those of gaps. */
async function tableValues(page: Page): Promise<number> {
  const numbers = page.locator(".chart details td.number");
  await numbers.first().waitFor();
  const cells = await numbers.allInnerTexts();
  return cells.filter((text) => text !== "–").length;
}
