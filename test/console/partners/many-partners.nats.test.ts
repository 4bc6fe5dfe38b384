import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser, startConsoleBrowser, type ConsoleBrowser, type ConsoleTab } from "../console-browser.ts";
import { partners, startWebhookInstallation, type WebhookInstallation } from "../webhook-installation.ts";

const startMsMax = 180_000;
/** More than the console reads at once, which is 1,000 by name. */
const count = 1_100;
const found = await findBrowser();

describe.skipIf("missing" in found)("an installation with more than 1,000 partners", () => {
  let installation: WebhookInstallation;
  let browser: ConsoleBrowser;
  let tab: ConsoleTab;

  beforeAll(async () => {
    [installation, browser] = await Promise.all([
      startWebhookInstallation({ idlePartners: count }),
      startConsoleBrowser(found),
    ]);
    await installation.publish({ eventId: "evt-1", data: { answer: { status: 422 } } });
    tab = await browser.open({ widthPx: 1_440 });
  }, startMsMax);
  afterAll(async () => {
    await browser?.close();
    await installation?.stop();
  }, startMsMax);

  const openPage = async (path: string): Promise<void> => {
    await tab.page.goto("about:blank");
    await tab.page.goto(await installation.address(path));
  };

  test("lists the first 1,000 by name, says so, and finds each of the others", async () => {
    const { page } = tab;
    await openPage("/partners");
    await page.getByText("The first 1,000 partners are shown. Search to find others.").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(1_000);
    await page.getByRole("link", { name: "Partner", exact: true }).click();
    await page.locator("thead [aria-sort=ascending]", { hasText: "Partner" }).waitFor();
    expect(await page.locator("tbody th").first().innerText()).toBe(partners.heeding);
    await page.getByLabel("Namespace or name").fill("quiet-ledger");
    await page.keyboard.press("Enter");
    await page.locator("tbody tr").nth(1).waitFor({ state: "detached" });
    expect(await page.locator("tbody th").allInnerTexts()).toEqual([partners.quiet]);
    expect(await page.getByText("The first 1,000").count()).toBe(0);
  });

  test("filters by a partner beyond the first 1,000, and offers those that match a part of a name", async () => {
    const { page } = tab;
    await openPage("/events");
    const field = page.getByLabel("Partner", { exact: true });
    await field.fill("ledger");
    await page.locator(`datalist option[value="${partners.quiet}"]`).waitFor({ state: "attached" });
    await field.press("Enter");
    await page.waitForURL((url) => url.searchParams.get("partner") === partners.quiet);
    await page.getByRole("link", { name: "evt-1", exact: true }).waitFor();
    await field.fill("idle");
    await field.press("Enter");
    const choice = page.getByRole("navigation", { name: "Matching partners" });
    await choice.getByText("These are the first 20. Enter more of the name.").waitFor();
    expect(await choice.getByRole("listitem").count()).toBe(20);
    await field.fill(`idle-0${count - 1}`);
    await field.press("Enter");
    await page.waitForURL((url) => url.searchParams.get("partner") === `default/idle-0${count - 1}`);
    await page.getByText("No events match").waitFor();
  });

  test("is found by the search, and Home names what it did not check", async () => {
    const { page } = tab;
    await openPage("/");
    await page.getByText("(counted in the first 1,000)").waitFor();
    await page.getByText(/Partners after the first 1,000 were not checked/u).waitFor();
    await page.keyboard.press("/");
    await page.getByRole("combobox", { name: "Search" }).fill("quiet");
    await page.getByRole("option", { name: partners.quiet }).click();
    await page.getByRole("heading", { level: 1, name: partners.quiet }).waitFor();
    expect(await tab.audit()).toEqual([]);
    expect(tab.faults).toEqual([]);
  });
});
