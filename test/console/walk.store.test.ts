import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { figuresOf, findBrowser, type ConsoleTab } from "./console-browser.ts";
import { see, useConsole } from "./console-visitor.ts";
import { encodePicture, keptPages, keptPicture, keptPictures, pictureDistance, picturesOf } from "./kept-pictures.ts";
import { metricActions } from "./metric-actions.ts";
import { pageRows } from "./pages.ts";
import { signInButton } from "./sign-in-server.ts";
import { shellActions } from "./shell-actions.ts";
import { webhookActions } from "./webhook-actions.ts";

const [wide, narrow] = [
  { width: 1_280, height: 800 },
  { width: 320, height: 640 },
];
/** Bar of the console on loopback; a machine of the tests may be five times slower. */
const interactiveMsBar = 400;
const slowFactor = 5;
/** CPU time. */
const longTaskMsMax = 100;
const layoutShiftMax = 0.1;
/** Of a page whose panels are shown together. */
const stillShiftMax = 0.01;
const lateStepMs = 100;
/** Pages that read nothing. */
const unreadPages = ["preview", "unknown-page"];
/** Pages of the console are 0.027 and more apart from each other. */
const pictureDistanceMax = 0.02;
/** Where pictures of all pages go. @default none are made */
const pictures = process.env["HELIOGRAPH_SCREENSHOTS"];

const found = await findBrowser();
const say = (line: string): void => void process.stdout.write(`${line}\n`);

describe.skipIf("missing" in found)("the console in a browser", () => {
  const used = useConsole(found);

  describe("signs in", () => {
    test("at a real authorization server with a token bound to a key, and comes back to the page asked for", async () => {
      const tab = await used.visitor.open();
      const { page } = tab;
      const proofs: string[] = [];
      page.on("request", (request) => {
        const { authorization = "", dpop = "" } = request.headers();
        if (request.url().startsWith(`${used.installation.url}/v1/`))
          proofs.push(`${authorization.slice(0, 5)}${dpop}`);
      });
      await page.goto(`${used.installation.url}/console/?from=a-link`);
      await page.getByRole("button", { name: signInButton }).click();
      await see(tab, "Home", ["Stores"]);
      expect(page.url()).toBe(`${used.installation.url}/console/?from=a-link`);
      expect(proofs.length).toBeGreaterThan(1);
      expect(proofs.filter((proof) => !/^DPoP [\w-]+\.[\w-]+\.[\w-]+$/u.test(proof))).toEqual([]);
      expect(new Set(proofs).size).toBe(proofs.length);
      await expectKeptEverywhere(tab);
      expect(tab.faults).toEqual([]);
      await tab.close();
    });

    test("and renews a token that ends, with proofs that hold the number that the issuer asks for", async () => {
      // Shorter than the lead of a renewal: each request renews first.
      used.installation.signInBy({ tokenSeconds: 20, asksForNonce: true });
      const tab = await used.visitor.open();
      const { page } = tab;
      const [tokens, grants]: [Set<string>, string[]] = [new Set(), []];
      page.on("request", (request) => {
        const { authorization } = request.headers();
        if (authorization !== undefined) tokens.add(authorization);
        const body = request.method() === "POST" ? (request.postData() ?? "") : "";
        const { grant_type: grant } = Object.fromEntries(new URLSearchParams(body));
        if (grant !== undefined) grants.push(grant);
      });
      await page.goto(`${used.installation.url}/console/`);
      await page.getByRole("button", { name: signInButton }).click();
      await see(tab, "Home", ["Stores"]);
      expect(grants.slice(0, 2)).toEqual(["authorization_code", "authorization_code"]);
      expect(grants).toContain("refresh_token");
      // The requests of the first page may all have shared one renewal.
      await page.getByRole("link", { name: "Partners", exact: true }).click();
      await see(tab, "Partners", ["default/acme-payments"]);
      expect(tokens.size).toBeGreaterThan(1);
      expect(tab.faults).toEqual([]);
      await tab.close();
      used.installation.signInBy({});
    });

    test("with the token of a command, which is gone from the address at once and from memory when signed out", async () => {
      const tab = await used.visitor.open();
      const { page } = tab;
      await page.goto(await used.installation.address("/", "admin"));
      await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
      expect(page.url()).toBe(`${used.installation.url}/console/`);
      expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(2);
      await expectKeptEverywhere(tab);
      expect(await tab.audit()).toEqual([]);
      expect(tab.faults).toEqual([]);
      await tab.close();
    });

    test("and is signed out after 30 minutes without a key or a click, even if the page polls", async () => {
      const tab = await used.visitor.open();
      const { page } = tab;
      await page.clock.install();
      await page.goto(await used.installation.address("/", "admin"));
      await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
      await page.clock.runFor("29:00");
      await page.getByRole("heading", { level: 1, name: "Home" }).click();
      await page.clock.runFor("29:00");
      expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("Home");
      await page.clock.runFor("02:00");
      await page.getByRole("heading", { name: "You are signed out" }).waitFor();
      expect((await storedSession(page)).access).toBe("");
      await tab.close();
    });

    test("with a token that the server rejects later says so and stays, until another one is given", async () => {
      const tab = await used.visitor.open();
      const { page } = tab;
      const isUsage = ({ pathname }: URL): boolean => pathname === "/v1/metrics/usage";
      const rejected = { title: "Token invalid", status: 401, detail: "It has ended.", code: "token_invalid" };
      await page.route(isUsage, (route) => route.fulfill({ status: 401, json: rejected }));
      await page.goto(await used.installation.address("/usage", "admin"));
      await page.getByText("The server no longer accepts your token").waitFor();
      await page.getByLabel("Token").fill("nothing");
      await page.getByRole("button", { name: "Sign in with the token" }).click();
      await page.getByText("The server rejected the token: ").waitFor();
      await page.unroute(isUsage);
      await page.getByLabel("Token").fill(await used.installation.token("metrics"));
      await page.getByRole("button", { name: "Sign in with the token" }).click();
      await see(tab, "Usage", ["metrics-desk"]);
      expect(await page.getByText(/The server (?:no longer accepts|rejected)/u).count()).toBe(0);
      expect(tab.faults).toEqual([]);
      await tab.close();
    });
  });

  describe("shows each page without a fault, in both themes and on a narrow screen", () => {
    let tab: ConsoleTab;
    const shownPictures = new Map<string, string>();
    beforeAll(async () => {
      tab = await used.visitor.open();
    });

    test.each(pageRows.map((row) => [row.name, row] as const))("%s", async (name, row) => {
      let longestTaskMs = Infinity;
      // The least of a few: a busy machine adds to the CPU time too.
      for (let turn = 0; turn < 3 && longestTaskMs > longTaskMsMax; turn += 1)
        longestTaskMs = Math.min(longestTaskMs, await tab.longestTaskMs(() => used.visitor.visit(tab, row)));
      say(`${name}: its longest task takes ${longestTaskMs.toFixed(0)} ms`);
      expect(longestTaskMs, "the longest task").toBeGreaterThan(1);
      expect(longestTaskMs, "the longest task").toBeLessThanOrEqual(longTaskMsMax);
      for (const theme of ["light", "dark"] as const) {
        await tab.page.emulateMedia({ colorScheme: theme });
        expect(await tab.audit(), `${name} in ${theme}`).toEqual([]);
        if (pictures !== undefined) await takePicture(tab, `${name}-${theme}`);
      }
      const { layoutShift } = await figuresOf(tab.page);
      expect(layoutShift, "the sum of the layout shifts").toBeLessThanOrEqual(layoutShiftMax);
      await tab.page.setViewportSize(narrow);
      const widthPx = await tab.page.evaluate(() => document.documentElement.scrollWidth);
      if (pictures !== undefined) await takePicture(tab, `${name}-narrow`);
      if (name in keptPages) {
        await tab.page.emulateMedia({ colorScheme: keptPages[name] ?? "light" });
        for (const [of, picture] of await picturesOf(tab.page, name)) shownPictures.set(of, picture);
      }
      await tab.page.setViewportSize(wide);
      expect(widthPx, "the width of the page").toBeLessThanOrEqual(narrow.width);
      expect(tab.faults).toEqual([]);
    });

    test.each(keptPictures)("%s, about as the documentation shows it", async (name) => {
      const shown = shownPictures.get(name) ?? "";
      await tab.page.goto("about:blank");
      if (pictures !== undefined) await writeFile(join(pictures, `${name}.webp`), await encodePicture(tab.page, shown));
      const distance = await pictureDistance(tab.page, await keptPicture(name), shown);
      say(`${name} is ${distance.toFixed(4)} from the kept picture`);
      expect(distance).toBeLessThan(pictureDistanceMax);
    });

    test("each page is told apart from the others that the documentation shows", async () => {
      await tab.page.goto("about:blank");
      for (const [name, shown] of shownPictures) {
        const size = name.slice(name.lastIndexOf("-"));
        for (const other of keptPictures.filter((one) => one !== name && one.endsWith(size))) {
          const distance = await pictureDistance(tab.page, await keptPicture(other), shown);
          expect(distance, `${name} and ${other}`).toBeGreaterThan(pictureDistanceMax);
        }
      }
    });
  });

  const actions = [...shellActions, ...webhookActions, ...metricActions].map(
    (action) => [action.name, action] as const,
  );
  describe.skipIf(actions.length === 0)("lets a reader who", () => {
    test.each(actions)("%s", async (_name, { run }) => {
      const before = used.tabs.length;
      await run(used.visitor);
      expect(used.tabs.slice(before).flatMap(({ faults }) => faults)).toEqual([]);
    });
  });

  test("is used by keyboard alone: skip link, menu, theme, and the heading of the next page", async () => {
    const tab = await used.visitor.open({ widthPx: narrow.width });
    const { page } = tab;
    await used.visitor.visit(tab, { name: "home", path: "/", heading: "Home", sees: [] });
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Skip to content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
    await page.getByRole("combobox", { name: "Theme" }).selectOption("dark");
    await page.locator("html[data-theme=dark]").waitFor({ state: "attached" });
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(dark).toBe("rgb(20, 23, 28)");
    await page.getByRole("button", { name: "Menu" }).press("Enter");
    const home = page.getByRole("navigation", { name: "Pages of the console" }).getByRole("link", { name: "Home" });
    await home.waitFor();
    expect(await home.getAttribute("aria-current")).toBe("page");
    await page.evaluate(() => history.pushState(null, "", "/console/nowhere"));
    await page.evaluate(() => window.dispatchEvent(new PopStateEvent("popstate")));
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    await expect.poll(() => focused(page)).toBe("Page not found");
    await page.getByRole("link", { name: "Go to Home" }).press("Enter");
    await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
    expect(page.url()).toBe(`${used.installation.url}/console/`);
    expect(tab.faults).toEqual([]);
    await tab.close();
  });

  test("keeps the place of the keyboard when what has the focus leaves", async () => {
    const tab = await used.visitor.open();
    const { page } = tab;
    const { rejected } = used.installation.events;
    const isInside = (selector: string): Promise<boolean> =>
      page.evaluate((one) => document.activeElement?.matches(`${one}, ${one} *`) === true, selector);
    await used.visitor.visit(tab, { name: "events", path: "/events?status=4xx", heading: "Events", sees: [rejected] });
    await page.getByLabel("Reason").focus();
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Clear filters");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${used.installation.url}/console/events`);
    await page.getByRole("link", { name: "Clear filters" }).waitFor({ state: "detached" });
    // The focus moves in a task after the change of the page.
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("reason");

    const address = "/dead-letters?type=payout.processed";
    await used.visitor.visit(tab, { name: "dead-letters", path: address, heading: "Dead letters", sees: [] });
    await page.getByRole("button", { name: "Redrive all that match" }).press("Enter");
    const panel = page.getByRole("region", { name: "Redrive", exact: true });
    await panel.getByText("Matching dead letters").waitFor();
    // Other tests may have redriven all of them.
    await panel.getByRole("button", { name: /^(?:Cancel|Close)$/u }).press("Enter");
    await panel.waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toBe("Redrive all that match");
    await page.getByRole("button", { name: "Apply" }).press("Enter");
    expect(await focused(page)).toBe("Apply");
    await page.getByRole("link", { name: "Clear", exact: true }).press("Enter");
    await page.waitForURL(`${used.installation.url}/console/dead-letters`);
    await page.getByRole("link", { name: "Clear", exact: true }).waitFor({ state: "detached" });
    await expect.poll(() => isInside("form.filters")).toBe(true);
    expect(await page.getByLabel("Type").inputValue()).toBe("");

    let isDown = true;
    await page.route("**/v1/metrics/quota", (route) =>
      isDown ? route.fulfill({ status: 503, json: { title: "Service unavailable", status: 503 } }) : route.continue(),
    );
    await used.visitor.visit(tab, { name: "quotas", path: "/quotas", heading: "Quotas", sees: ["Try again"] });
    isDown = false;
    await page.getByRole("button", { name: "Try again" }).press("Enter");
    await page.getByText("Class B").first().waitFor();
    await expect.poll(() => isInside(".reading")).toBe(true);

    // The search returns the focus, also if it opens the page that is shown.
    const refill = page.getByRole("link", { name: "Cost units" }).first();
    await refill.focus();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search" }).fill("quotas");
    await page.getByRole("option", { name: "Quotas" }).waitFor();
    for (let turn = 0; turn < 3; turn += 1) {
      await page.keyboard.press("Tab");
      expect(await isInside("main, header, nav")).toBe(false);
    }
    await page.getByRole("combobox", { name: "Search" }).press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toBe("Cost units");
    expect(tab.faults.filter((fault) => !fault.includes("status of 503"))).toEqual([]);
    await tab.close();
  });

  test("shows the error, its id and a retry on each page while the API fails", async () => {
    const tab = await used.visitor.open();
    const problem = { title: "Internal server error", status: 500, detail: "It failed.", correlation_id: "id-of-it" };
    const isRead = ({ pathname }: URL): boolean => /^\/(?:webhooks|v1)\//u.test(pathname) && pathname !== "/v1/me";
    await tab.page.route(isRead, (route) => route.fulfill({ status: 500, json: problem }));
    const paths = pageRows.flatMap(({ path, reader, name }) =>
      typeof path === "string" && reader === undefined && !unreadPages.includes(name) ? [path] : [],
    );
    expect(paths.length).toBeGreaterThan(10);
    for (const path of paths) {
      await tab.page.goto("about:blank");
      await tab.page.goto(await used.installation.address(path, "admin"));
      await see(tab, "", ["Internal server error", "It failed.", "id-of-it", "Try again"]);
      expect(await tab.page.locator(".skeleton").count()).toBe(0);
      expect(await tab.page.getByText("Nothing needs attention").count()).toBe(0);
    }
    await tab.close();
  });

  test("Home does not claim that all is well if something could not be checked", async () => {
    const tab = await used.visitor.open();
    await tab.page.route(
      ({ pathname }) => pathname === "/v1/metrics/health",
      (route) => route.fulfill({ status: 503, json: { title: "Service unavailable", status: 503 } }),
    );
    const none = { data: [], meta: { complete: true } };
    await tab.page.route("**/webhooks/dead-letters/counts", (route) => route.fulfill({ json: none }));
    await tab.page.route("**/webhooks/partners?*", (route) =>
      route.fulfill({ json: { data: [], meta: { cursor: null } } }),
    );
    await tab.page.route("**/v1/metrics/slo?*", (route) => route.fulfill({ json: none }));
    const sees = ["Not everything could be checked", "The server did not return the metrics API."];
    await used.visitor.visit(tab, { name: "home", path: "/", heading: "Home", sees });
    expect(await tab.page.getByText("Nothing needs attention").count()).toBe(0);
    await tab.close();
  });

  test.each([
    ["admin", "Stores"],
    ["metrics", "Latency p95"],
  ] as const)("moves nothing on Home of %s, whatever arrives first", async (reader, last) => {
    const tab = await used.visitor.open();
    const late = ["/v1/me", "/webhooks/stats", "/v1/metrics/health", "/webhooks/partners", "/webhooks/dead-letters"];
    for (const [place, path] of late.entries())
      await tab.page.route(
        (url) => url.pathname.startsWith(path),
        async (route) => {
          await setTimeout((late.length - place) * lateStepMs);
          await route.continue();
        },
      );
    await used.visitor.visit(tab, { name: "home", path: "/", reader, heading: "Home", sees: [last] });
    expect((await figuresOf(tab.page)).layoutShift).toBeLessThanOrEqual(stillShiftMax);
    await tab.close();
  });

  test("is of use soon after it is asked for", async () => {
    const tab = await used.visitor.open();
    const figures = [];
    for (let turn = 0; turn < 3; turn += 1) {
      await used.visitor.visit(tab, { name: "home", path: "/", heading: "Home", sees: [] });
      figures.push(await figuresOf(tab.page));
    }
    const interactiveMs = Math.min(...figures.map((one) => one.interactiveMs));
    say(`the console is interactive after ${interactiveMs.toFixed(0)} ms, bar ${interactiveMsBar}`);
    expect(interactiveMs).toBeGreaterThan(0);
    expect(interactiveMs).toBeLessThanOrEqual(interactiveMsBar * slowFactor);
    await tab.close();
  });
});

/**
 * A session that a reload and a new tab keep, and that signing out ends in both. What is stored holds no key that a
 * script can read.
 */
async function expectKeptEverywhere({ page }: ConsoleTab): Promise<void> {
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
  const stored = await storedSession(page);
  expect(stored).toMatchObject({ isExtractable: false, exported: "InvalidAccessError" });
  expect(stored.access).not.toBe("");
  const copied = { headers: { authorization: `Bearer ${stored.access}` } };
  expect((await fetch(new URL("/v1/me", page.url()), copied)).status).toBe(401);
  const other = await page.context().newPage();
  await other.goto(page.url().replace(/console\/.*$/u, "console/partners"));
  await other.getByRole("heading", { level: 1, name: "Partners" }).waitFor();
  await other.getByRole("button", { name: "Sign out" }).click();
  for (const tab of [page, other]) await tab.getByRole("heading", { name: "You are signed out" }).waitFor();
  expect(await storedTexts(page)).toEqual(["heliograph-console"]);
  expect(await storedSession(page)).toEqual({ access: "", isExtractable: undefined, exported: "" });
  await other.close();
}

interface StoredFacts {
  readonly access: string;
  readonly isExtractable: boolean | undefined;
  /** Name of the error of reading the private key out. */
  readonly exported: string;
}

async function storedSession(page: ConsoleTab["page"]): Promise<StoredFacts> {
  return page.evaluate(async () => {
    const database = await new Promise<IDBDatabase>((resolve) => {
      const opening = indexedDB.open("heliograph-console");
      opening.onsuccess = () => resolve(opening.result);
    });
    const stored = await new Promise<{ access: string; key: CryptoKeyPair } | undefined>((resolve) => {
      const reading = database.transaction("sessions").objectStore("sessions").get("current");
      reading.onsuccess = () => resolve(reading.result as { access: string; key: CryptoKeyPair } | undefined);
    });
    database.close();
    if (stored === undefined) return { access: "", isExtractable: undefined, exported: "" };
    const { privateKey } = stored.key;
    const exported = await crypto.subtle.exportKey("jwk", privateKey).then(
      () => "read",
      (error: unknown) => (error as Error).name,
    );
    return { access: stored.access, isExtractable: privateKey.extractable, exported };
  });
}

/** Everything that a page left in the browser. */
async function storedTexts(page: ConsoleTab["page"]): Promise<readonly string[]> {
  const stored = await page.evaluate(async () => {
    const databases = await indexedDB.databases();
    return [
      ...Object.values(localStorage),
      ...Object.values(sessionStorage),
      ...databases.map(({ name }) => `${name}`),
    ];
  });
  const cookies = await page.context().cookies(page.url());
  return [...stored, ...cookies.filter(({ domain }) => domain === "127.0.0.1").map(({ name }) => name)];
}

/** Text of the element that has the focus. */
async function focused(page: ConsoleTab["page"]): Promise<string | null | undefined> {
  return page.evaluate(() => document.activeElement?.textContent);
}

async function takePicture({ page }: ConsoleTab, name: string): Promise<void> {
  if (pictures === undefined) return;
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}
