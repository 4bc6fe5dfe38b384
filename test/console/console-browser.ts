import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import type axe from "axe-core";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { findDebianServer, type DebianServer } from "../tools/debian-server.ts";

/** A browser that opens the console and watches it. */
export interface ConsoleBrowser {
  /** Opens a tab of its own, as another person on another machine. */
  open(look?: Look): Promise<ConsoleTab>;
  close(): Promise<void>;
}

export interface Look {
  /** @default 1280 */
  readonly widthPx?: number;
  /** @default "light" */
  readonly theme?: "light" | "dark";
}

/** A tab and what went wrong in it. */
export interface ConsoleTab {
  readonly page: Page;
  /**
   * What no page of the console may do: break its policy, throw, write an error to its log, or fail to load a file.
   * Refusals by the API are none, since pages show them.
   */
  readonly faults: readonly string[];
  /**
   * The longest task of pages while something is done, in ms of CPU time: what other programs of the machine do
   * meanwhile does not count.
   */
  longestTaskMs(act: () => Promise<void>): Promise<number>;
  /** Violations of the rules of accessibility on the page as it stands, as `rule: selector`. */
  audit(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** What a page measured of itself. */
export interface PageFigures {
  /** From the request of the page to its heading, ms. */
  readonly interactiveMs: number;
  /** Sum of the layout shifts. Source: the Layout Instability API. */
  readonly layoutShift: number;
}

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Browsers trust plain HTTP of this machine by its address, and not by this name.
  "--host-resolver-rules=MAP plain-http.test 127.0.0.1",
];
const heightPx = 800;
const startMsMax = 60_000;
/** Of every wait for an element; a machine may be slow. */
const waitMsMax = 20_000;
/** The rules of WCAG and of good practice that axe knows. */
const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Where the browser is, or why there is none. */
export function findBrowser(): Promise<DebianServer> {
  return findDebianServer("chromium");
}

/** Starts Debian's Chromium, without a screen. @throws Error when it does not come up */
export async function startConsoleBrowser(found: DebianServer): Promise<ConsoleBrowser> {
  if ("missing" in found) throw new Error(found.missing);
  const env = { ...process.env, ...found.env } as Record<string, string>;
  const browser = await chromium.launch({ executablePath: found.command, args: flags, env, timeout: startMsMax });
  const scripts = { axe: await readFile(axePath, "utf8") };
  return {
    open: (look = {}) => openTab(browser, scripts.axe, look),
    close: () => browser.close(),
  };
}

async function openTab(browser: Browser, axeText: string, look: Look): Promise<ConsoleTab> {
  const context = await browser.newContext({
    viewport: { width: look.widthPx ?? 1280, height: heightPx },
    colorScheme: look.theme ?? "light",
    // The authority of the sign-in server is this test's own.
    ignoreHTTPSErrors: true,
    reducedMotion: "reduce",
  });
  const faults: string[] = [];
  await watchPolicy(context, faults);
  await context.addInitScript(measureItself);
  const page = await context.newPage();
  page.setDefaultTimeout(waitMsMax);
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  page.on("console", (message) => {
    const { url } = message.location();
    if (message.type() === "error" && isOwn(url) && !isRefusal(message.text(), url)) faults.push(message.text());
  });
  return {
    page,
    faults,
    longestTaskMs: (act) => longestTaskMs(browser, page, act),
    audit: () => auditPage(page, axeText),
    close: () => context.close(),
  };
}

/** The page of the authorization server is not judged. */
function isOwn(url: string): boolean {
  return !url.startsWith("https://localhost");
}

/** Chromium writes each refused request of a page to the log. */
function isRefusal(text: string, url: string): boolean {
  // Of a page over plain HTTP.
  if (text.startsWith("The Cross-Origin-Opener-Policy header has been ignored")) return true;
  return (
    /^Failed to load resource: .* status of 4\d\d/u.test(text) &&
    (!url.includes("/console/") || url.endsWith("/console/token"))
  );
}

async function watchPolicy(context: BrowserContext, faults: string[]): Promise<void> {
  await context.exposeFunction("reportPolicyViolation", (text: string) => void faults.push(text));
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) => {
      const report = (globalThis as unknown as { reportPolicyViolation: (text: string) => void }).reportPolicyViolation;
      report(`policy: ${violatedDirective} ${blockedURI} ${sample}`);
    });
  });
}

interface Measured {
  figures: { interactiveMs: number; layoutShift: number };
}

/** Runs in the page, before its own scripts. */
function measureItself(): void {
  const figures = { interactiveMs: 0, layoutShift: 0 };
  (globalThis as unknown as Measured).figures = figures;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as unknown as readonly { value: number; hadRecentInput: boolean }[])
      if (!entry.hadRecentInput) figures.layoutShift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  const seen = new MutationObserver(() => {
    if (document.querySelector("main h1") === null) return;
    seen.disconnect();
    figures.interactiveMs = performance.now();
  });
  seen.observe(document, { childList: true, subtree: true });
}

/** What the page measured since it was loaded. */
export async function figuresOf(page: Page): Promise<PageFigures> {
  return page.evaluate(() => (globalThis as unknown as Measured).figures);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** CPU time, microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

async function longestTaskMs(browser: Browser, page: Page, act: () => Promise<void>): Promise<number> {
  await browser.startTracing(page, { categories: ["-*", "toplevel", "__metadata"] });
  const done = act().then(() => page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve))));
  await done.catch(() => undefined);
  const trace = (await browser.stopTracing()).toString();
  await done;
  const { traceEvents } = JSON.parse(trace) as { readonly traceEvents: readonly TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const threads = new Set(traceEvents.filter(({ args }) => args?.name === "CrRendererMain").map(threadOf));
  const tasks = traceEvents.filter((event) => event.name.endsWith("RunTask") && threads.has(threadOf(event)));
  if (tasks.length === 0) throw new Error("the browser traced no task of a page");
  return tasks.reduce((most, { tdur = 0 }) => Math.max(most, tdur), 0) / 1_000;
}

/** The rules run as a script of the test, not of the page: its policy stays in force. */
async function auditPage(page: Page, axeText: string): Promise<readonly string[]> {
  const isThere = await page.evaluate(() => "axe" in globalThis);
  if (!isThere) await page.evaluate(axeText);
  const results = await page.evaluate(() => {
    const { axe: rules } = globalThis as unknown as { axe: typeof axe };
    return rules.run(document, { resultTypes: ["violations"] });
  });
  return results.violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
}
