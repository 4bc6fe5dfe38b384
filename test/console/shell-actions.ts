import { expect } from "vitest";
import { see, type ConsoleVisitor, type PageAction } from "./console-visitor.ts";

/** What people do on every page: search, and choose how times are shown. */
export const shellActions: readonly PageAction[] = [
  { name: "opens the console over plain HTTP signs in by a token, and copies", run: copyOverPlainHttp },
  { name: "searches an event by its id, and a partner and an event type by a part of their names", run: search },
  { name: "signs in by a wrong token sees why on the sign-in page, and then by a valid one", run: signInWrongly },
  { name: "chooses local time still has it after a reload", run: chooseZone },
];

async function signInWrongly({ installation, open }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  // The program of this suite has an issuer, so it shows a form for tokens only without one.
  await page.route("**/console/config.json", async (route) => {
    const response = await route.fetch();
    const config = (await response.json()) as object;
    await route.fulfill({ response, json: { ...config, issuer: null, client_id: null } });
  });
  const rejected = page.getByRole("alert").filter({ hasText: "The server rejected the token: " });
  await page.goto(`${installation.url}/console/events#token=not-a-token`);
  await rejected.waitFor();
  await see(tab, "Sign in", []);
  expect(await page.getByRole("navigation").count()).toBe(0);
  expect(await tab.audit()).toEqual([]);
  const token = page.getByLabel("Token");
  await token.fill("another.wrong.token");
  await token.press("Enter");
  await rejected.waitFor();
  expect(await token.getAttribute("aria-invalid")).toBe("true");
  await token.fill(await installation.token("admin"));
  await token.press("Enter");
  await see(tab, "Events", [installation.events.rejected]);
  expect(await rejected.count()).toBe(0);
  await page.evaluate(() => (location.hash = "token=not-a-token"));
  const kept = page
    .getByRole("alert")
    .filter({ hasText: "rejected the token of the address, and this session continues" });
  await kept.waitFor();
  await see(tab, "Events", [installation.events.rejected]);
  expect(await tab.audit()).toEqual([]);
}

async function search({ installation, open, visit }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  const { rejected } = installation.events;
  await visit(tab, { name: "home", path: "/", heading: "Home", sees: [] });
  await page.keyboard.press("/");
  const input = page.getByRole("combobox", { name: "Search" });
  // The id is looked up first, so that Enter at once opens it.
  await input.fill(rejected);
  await input.press("Enter");
  await page.waitForURL(`${installation.url}/console/events/${rejected}`);
  await page.keyboard.press("Control+k");
  await page.getByRole("option", { name: rejected }).waitFor();
  await input.fill("partners");
  expect(await tab.audit()).toEqual([]);
  await input.press("Enter");
  await see(tab, "Partners", []);
  const partner = (await page.locator("tbody th a").first().innerText()).trim();
  await page.getByRole("button", { name: "Search" }).click();
  await input.fill(partner.split("/")[1] ?? "");
  await page.getByRole("option", { name: partner }).click();
  await page.waitForURL(`${installation.url}/console/partners/${partner}`);
  await page.keyboard.press("/");
  await input.fill("out.proc");
  await page.getByRole("option", { name: "payout.processed" }).click();
  await see(tab, "payout.processed", ["team-payouts"]);
  await page.keyboard.press("/");
  await input.fill("no such thing");
  await page.getByText("Nothing found. Event ids must be complete.").waitFor();
  await page.keyboard.press("Escape");
  await input.waitFor({ state: "detached" });
}

async function copyOverPlainHttp({ installation, open }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  const { rejected } = installation.events;
  const address = await installation.address(`/events/${rejected}`, "admin");
  await page.goto(address.replace("127.0.0.1", "plain-http.test"));
  await see(tab, rejected, ["1 rejected"]);
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await page.getByRole("button", { name: "Copy the event id" }).press("Enter");
  await page.getByRole("button", { name: "Copied the event id" }).waitFor();
  await page.keyboard.press("/");
  const input = page.getByRole("combobox", { name: "Search" });
  await input.press("Control+v");
  expect(await input.inputValue()).toBe(rejected);
}

async function chooseZone({ open, visit }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const times = tab.page.locator("tbody time").first();
  await visit(tab, { name: "events", path: "/events", heading: "Events", sees: [] });
  await times.waitFor();
  expect(await times.innerText()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/u);
  await tab.page.getByRole("combobox", { name: "Time zone" }).selectOption("local");
  expect(await times.innerText()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d$/u);
  await visit(tab, { name: "events", path: "/events", heading: "Events", sees: [] });
  await times.waitFor();
  expect(await times.innerText()).toMatch(/ [+-]\d\d:\d\d$/u);
}
