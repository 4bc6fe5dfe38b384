import { afterAll, beforeAll } from "vitest";
import {
  startConsoleBrowser,
  type ConsoleBrowser,
  type ConsoleTab,
  type findBrowser,
  type Look,
} from "./console-browser.ts";
import { startConsoleInstallation, type ConsoleInstallation } from "./console-installation.ts";
import type { PageRow } from "./pages.ts";

/** What a test of a page has: one installation and one browser for all of them. */
export interface ConsoleVisitor {
  readonly installation: ConsoleInstallation;
  /** Opens a tab of its own; all are closed in the end. */
  readonly open: (look?: Look) => Promise<ConsoleTab>;
  /** Loads a page anew, signed in as its reader, and waits for what it must show. */
  readonly visit: (tab: ConsoleTab, row: PageRow) => Promise<void>;
}

/** Something that a reader does on a page. */
export interface PageAction {
  /** A sentence about the reader: `finds a dead letter by its reason`. */
  readonly name: string;
  readonly run: (visitor: ConsoleVisitor) => Promise<void>;
}

/** A visitor of a running installation with a browser. @param tabs takes the tabs that were opened */
export function createConsoleVisitor(
  installation: ConsoleInstallation,
  browser: ConsoleBrowser,
  tabs: ConsoleTab[],
): ConsoleVisitor {
  return {
    installation,
    open: async (look = {}) => {
      const tab = await browser.open(look);
      tabs.push(tab);
      return tab;
    },
    visit: async (tab, row) => {
      const path = typeof row.path === "string" ? row.path : row.path(installation);
      // Another fragment alone would not load the page again.
      await tab.page.goto("about:blank");
      await tab.page.goto(await installation.address(path, row.reader ?? "admin"));
      await see(tab, row.heading, row.sees);
      const shown = await tab.page.locator("body").innerText();
      const unwanted = (row.misses ?? []).filter((text) => shown.includes(text));
      if (unwanted.length > 0) throw new Error(`${tab.page.url()} shows ${unwanted.join(", ")}`);
    },
  };
}

/** Waits for a heading and for texts that are seen. @throws Error with what is there instead */
export async function see(
  { page, faults }: ConsoleTab,
  heading: string,
  texts: readonly (string | RegExp)[],
): Promise<void> {
  try {
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    for (const text of texts) await page.getByText(text).filter({ visible: true }).first().waitFor();
  } catch (cause) {
    const shown = await page.locator("body").innerText();
    const missing = `${page.url()} does not show "${heading}" with ${texts.join(", ")}, but:`;
    throw new Error([missing, shown, ...faults].join("\n"), { cause });
  }
}

const startMsMax = 300_000;

/** What the tests of a suite share, once its first one runs. */
interface UsedConsole {
  installation: ConsoleInstallation;
  browser: ConsoleBrowser;
  visitor: ConsoleVisitor;
  /** All that were opened; they are closed in the end. */
  readonly tabs: ConsoleTab[];
}

/** Starts an installation and a browser before the tests of a suite, and stops both after them. */
export function useConsole(found: Awaited<ReturnType<typeof findBrowser>>): UsedConsole {
  const tabs: ConsoleTab[] = [];
  const used: Partial<UsedConsole> & Pick<UsedConsole, "tabs"> = { tabs };
  beforeAll(async () => {
    const [installation, browser] = await Promise.all([startConsoleInstallation(), startConsoleBrowser(found)]);
    Object.assign(used, { installation, browser, visitor: createConsoleVisitor(installation, browser, tabs) });
  }, startMsMax);
  afterAll(async () => {
    for (const tab of tabs) await tab.close();
    await used.browser?.close();
    await used.installation?.stop();
  }, startMsMax);
  return used as UsedConsole;
}
