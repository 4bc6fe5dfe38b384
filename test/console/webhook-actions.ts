import type { Locator } from "playwright-core";
import { expect } from "vitest";
import { demoEvent } from "../demo/events.ts";
import { waitFor } from "../support/wait.ts";
import type { ConsoleTab } from "./console-browser.ts";
import { failing, type ConsoleInstallation } from "./console-installation.ts";
import { see, type ConsoleVisitor, type PageAction } from "./console-visitor.ts";

const settledMsMax = 60_000;
const foreign = "north-ledger";

/** What readers do on the pages of partners, events, dead letters and replays. */
export const webhookActions: readonly PageAction[] = [
  { name: "filters events by HTTP status has the filter in the address, which another tab opens", run: filterByStatus },
  { name: "filters by a part of the name of a partner gets the only match, or a choice", run: filterByPart },
  { name: "types a time range keeps it while other filters apply", run: typeRange },
  { name: "opens the deliveries of an event has them in a link, failures first", run: openDeliveries },
  { name: "looks at events on a phone sees id, states and partner of each", run: readCards },
  { name: "follows events sees a new one without loading the page again", run: followEvents },
  { name: "replays what a filter matches types the count first, and sees the replay end", run: replayMatches },
  { name: "looks at a replay that goes on can cancel it", run: cancelReplay },
  { name: "asks why others got no delivery sees a reason for each partner", run: explainAbsence },
  { name: "sends a ping sees its attempt on the page of its event", run: sendPing },
  { name: "redrives dead letters of a reason, then acknowledges one, has none left", run: endDeadLetters },
  { name: "has the token of one partner finds nothing of another on any page or link", run: walkAsPartner },
];

async function filterByStatus(visitor: ConsoleVisitor): Promise<void> {
  const { installation, open, visit } = visitor;
  const tab = await open();
  const { page } = tab;
  await visit(tab, { name: "events", path: "/events", heading: "Events", sees: [installation.events.retried] });
  await page.getByLabel("HTTP status").fill("4xx");
  await page.keyboard.press("Enter");
  await page.waitForURL(`${installation.url}/console/events?status=4xx`);
  await expectRows(tab, [installation.events.rejected]);
  const other = await open();
  const path = page.url().slice(`${installation.url}/console`.length);
  await visit(other, { name: "filtered", path, heading: "Events", sees: [installation.events.rejected] });
  await expectRows(other, [installation.events.rejected]);
  await page.goBack();
  await see(tab, "Events", [installation.events.retried]);
}

/** Waits until an element has the focus. */
async function focused(element: Locator): Promise<void> {
  await expect.poll(() => element.evaluate((one) => one === document.activeElement)).toBe(true);
}

async function filterByPart({ installation, open, visit }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  const { rejected } = installation.events;
  const isAt = (path: string, partner: string) => (url: URL) =>
    url.pathname === `/console${path}` && url.searchParams.get("partner") === partner;
  for (const [path, heading] of [
    ["/events", "Events"],
    ["/dead-letters", "Dead letters"],
    ["/replays", "Replays"],
  ] as const) {
    await visit(tab, { name: "list", path, heading, sees: [] });
    const field = page.getByLabel("Partner", { exact: true });
    await field.fill("north");
    await field.press("Enter");
    await page.waitForURL(isAt(path, "default/north-ledger"));
    // The field shows what the address has.
    await expect.poll(() => field.inputValue()).toBe("default/north-ledger");
    await field.fill("default");
    await field.press("Enter");
    const choice = page.getByRole("navigation", { name: "Matching partners" });
    await choice.getByRole("link", { name: failing.partner }).waitFor();
    // Nothing is selected yet.
    expect(await page.getByRole("button", { name: /^(?:Replay matching|Redrive|Acknowledge)/u }).count()).toBe(0);
    expect(await tab.audit()).toEqual([]);
    await choice.getByRole("link", { name: "default/north-ledger" }).click();
    await page.waitForURL(isAt(path, "default/north-ledger"));
    await choice.waitFor({ state: "detached" });
  }
  await visit(tab, { name: "events", path: "/events?partner=nobody", heading: "Events", sees: ["No partner matches"] });
  await visit(tab, { name: "events", path: "/events?partner=north", heading: "Events", sees: [rejected] });
}

async function typeRange({ open, visit, installation }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  await visit(tab, {
    name: "events",
    path: "/events?follow=1",
    heading: "Events",
    sees: [installation.events.retried],
  });
  const custom = page.getByRole("button", { name: "Custom" });
  await custom.click();
  const from = page.getByLabel("From (UTC)");
  await focused(from);
  expect(await page.getByLabel("To (UTC)").inputValue()).toBe("");
  await page.keyboard.press("Escape");
  await from.waitFor({ state: "detached" });
  expect(await page.locator(".time-range .choice:is(.current, [aria-current])").allInnerTexts()).toEqual(["24 h"]);
  await custom.click();
  // A range that ends before it starts, and a text that is no time, are not applied.
  await page.getByLabel("To (UTC)").fill("2020-01-31");
  for (const text of ["2020-01-31 10:00:05", "yesterday"]) {
    await from.fill(text);
    await from.press("Enter");
    const fault = (): Promise<string> => from.evaluate((field) => (field as HTMLInputElement).validationMessage);
    await expect.poll(fault).not.toBe("");
    expect(page.url()).not.toContain("from=");
  }
  await page.getByLabel("To (UTC)").fill("");
  await from.fill("2020-01-31 10:00:05");
  // Another filter renders the page anew, and neither takes the focus back nor changes the range.
  await page.getByLabel("State").selectOption("failed");
  await page.waitForURL(/state=failed/u);
  await page.getByLabel("Partner", { exact: true }).fill("default/north-ledger");
  await page.locator(".event-row").nth(1).waitFor({ state: "detached" });
  expect(await from.inputValue()).toBe("2020-01-31 10:00:05");
  expect(await page.getByLabel("Partner", { exact: true }).inputValue()).toBe("default/north-ledger");
  await from.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("from") === "2020-01-31T10:00:05.000Z");
  expect(new URL(page.url()).searchParams.has("to")).toBe(false);
  await see(tab, "Events", [installation.events.rejected]);
  // The fields follow the presets in a row of their own, without a hole in the next one.
  const boxOf = async (selector: string) => (await page.locator(selector).first().boundingBox()) ?? { y: 0, height: 0 };
  const [range, fields] = [await boxOf(".time-range"), await boxOf(".filter-fields > label")];
  expect(fields.y - (range.y + range.height)).toBeLessThan(16);
  expect(range.height).toBeLessThan(80);
  expect(await page.locator(".time-range .choice:is(.current, [aria-current])").allInnerTexts()).toEqual(["Custom"]);
  await page.getByRole("combobox", { name: "Time zone" }).selectOption("local");
  await page
    .getByLabel(/^From \((?!UTC)/u)
    .or(page.getByLabel("From (UTC)"))
    .waitFor();
  const time = page.locator(".event-time").first();
  expect(await time.innerText()).toMatch(/[+-]\d\d:\d\d$/u);
  expect(await time.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
}

async function openDeliveries({ installation, open, visit }: ConsoleVisitor): Promise<void> {
  const { rejected } = installation.events;
  const tab = await open();
  await visit(tab, { name: "events", path: "/events", heading: "Events", sees: [rejected] });
  const row = tab.page.locator(".event-row").filter({ hasText: rejected });
  for (const cell of [row.locator(".event-time"), row.locator(".event-first")])
    expect(await cell.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
  const toggle = tab.page.getByRole("button", { name: `1 rejected 1 delivered of ${rejected}` });
  for (const [key, isOpen] of [
    ["Enter", "true"],
    ["Space", "false"],
  ] as const) {
    await toggle.press(key);
    await expect.poll(() => toggle.getAttribute("aria-expanded")).toBe(isOpen);
    await focused(toggle);
  }
  await toggle.click();
  await tab.page.waitForURL(`${installation.url}/console/events?open=${rejected}`);
  const opening = tab.page.context().waitForEvent("page");
  await tab.page.getByRole("link", { name: rejected, exact: true }).click({ modifiers: ["Control"] });
  const page = await opening;
  await page.getByRole("heading", { level: 1, name: rejected }).waitFor();
  await page.close();
  const other = await open();
  const path = tab.page.url().slice(`${installation.url}/console`.length);
  await visit(other, { name: "opened", path, heading: "Events", sees: [rejected] });
  const list = other.page.getByRole("list", { name: `Deliveries of ${rejected}` });
  expect(await list.getByRole("listitem").allInnerTexts()).toEqual([
    expect.stringMatching(/^rejected\s+default\/north-ledger\s+HTTP 422$/u),
    expect.stringMatching(/^delivered\s+default\/acme-payments\s+HTTP 200$/u),
  ]);
  expect(await other.audit()).toEqual([]);
  // The delivered one, which its event's page would not open itself.
  await list.getByRole("link", { name: `Delivery of ${rejected} to default/acme-payments` }).click();
  await see(other, rejected, [/^POST http:/u, "X-Webhook-Producer: payouts"]);
  const opened = await other.page.locator("details.delivery[open] > summary h3").allInnerTexts();
  expect(opened).toEqual(["default/acme-payments"]);
  expect(await other.page.locator("details.delivery > summary h3").first().innerText()).toBe("default/north-ledger");
}

async function readCards({ installation, open, visit }: ConsoleVisitor): Promise<void> {
  const { rejected } = installation.events;
  const tab = await open({ widthPx: 390 });
  await visit(tab, { name: "events", path: "/events?state=failed", heading: "Events", sees: [rejected] });
  const card = tab.page.locator(".event-row");
  expect(await card.count()).toBe(1);
  expect((await card.innerText()).split(/\s{2,}|\n/u).map((text) => text.trim())).toEqual(
    expect.arrayContaining([rejected, "1 rejected", "1 delivered", "default/north-ledger HTTP 422"]),
  );
  const { x = -1, width = 0 } = (await card.boundingBox()) ?? {};
  expect(x).toBeGreaterThanOrEqual(0);
  expect(x + width).toBeLessThanOrEqual(390);
  // A filter is set, so the filters are shown.
  const filters = tab.page.locator(".filter-fields :is(input, select)");
  expect(await filters.count()).toBe(5);
  for (const filter of await filters.all()) {
    const { x: left = -1, width: wide = 0 } = (await filter.boundingBox()) ?? {};
    expect(left).toBeGreaterThanOrEqual(0);
    expect(left + wide).toBeLessThanOrEqual(390);
  }
  await tab.page.getByRole("button", { name: "Filters (1)" }).click();
  expect(await filters.first().isVisible()).toBe(false);
  await visit(tab, { name: "events", path: "/events", heading: "Events", sees: [rejected] });
  expect(await filters.first().isVisible()).toBe(false);
  await tab.page.getByRole("button", { name: "Filters", exact: true }).press("Enter");
  await tab.page.getByLabel("State").selectOption("failed");
  await tab.page.waitForURL(/state=failed/u);
  expect(await tab.audit()).toEqual([]);
}

async function followEvents({ installation, open, visit }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  await visit(tab, {
    name: "events",
    path: "/events?type=payout.created",
    heading: "Events",
    sees: ["payout.created"],
  });
  await page.getByRole("button", { name: "Follow" }).click();
  await page.waitForURL(/follow=1/u);
  await page.getByText("following", { exact: true }).waitFor();
  await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
  const { eventId, body } = demoEvent("evt-followed", "payout.created", Date.now(), {
    amount_minor: 1,
    status: "created",
  });
  await ask(installation, "/events", { method: "POST", body });
  await page.getByRole("link", { name: eventId }).waitFor();
  expect(await page.locator("tbody tr").first().innerText()).toContain(eventId);
  // Its deliveries go on, and the row with them.
  await page.locator("tbody tr", { hasText: eventId }).getByText("2 delivered").first().waitFor();
  expect(await page.evaluate(() => "isSamePage" in globalThis)).toBe(true);
}

async function replayMatches({ installation, open, visit }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  const { rejected } = installation.events;
  await visit(tab, { name: "events", path: "/events?status=4xx", heading: "Events", sees: [rejected] });
  await page.getByRole("button", { name: "Replay matching" }).click();
  const panel = page.getByRole("region", { name: "Replay", exact: true });
  await panel.waitFor();
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Replay matching" }).click();
  await page.getByRole("button", { name: "Dry run" }).click();
  const start = page.getByRole("button", { name: "Replay 1 delivery" });
  await start.waitFor();
  expect(await tab.audit()).toEqual([]);
  await start.click();
  await page.waitForURL(/\/console\/replays\/[\w-]+$/u);
  await page.getByText("0 delivered, 1 failed of 1").waitFor();
  await page.getByText("completed").waitFor();
  expect(await tab.audit()).toEqual([]);
  // Who requested what.
  for (const fact of [/^Requested by\s*admin$/u, /^Selected ids\s*1$/u, /^Deliveries\s*failed ones only$/u])
    await page.locator(".facts > div").filter({ hasText: fact }).waitFor();
  await page.getByRole("link", { name: "All replays" }).click();
  await see(tab, "Replays", ["admin", "deliveries of 1 event to default/", "only failed ones"]);
  expect(await tab.audit()).toEqual([]);
}

async function cancelReplay({ installation, open, visit }: ConsoleVisitor): Promise<void> {
  const slow = JSON.stringify({ from: "2020-01-01T00:00:00Z", rate_per_second: 1 });
  const { replay_id: id } = (await ask(installation, "/webhooks/replay", { method: "POST", body: slow })) as {
    readonly replay_id: string;
  };
  const tab = await open();
  await visit(tab, { name: "replay", path: `/replays/${id}`, heading: `Replay ${id}`, sees: ["Cancel the replay"] });
  await tab.page.getByRole("button", { name: "Cancel the replay" }).click();
  await tab.page.getByText("cancelled").waitFor();
  await waitFor(
    async () => ((await ask(installation, `/webhooks/replay/${id}`)) as { status?: string }).status === "cancelled",
    { timeoutMs: settledMsMax, what: "the replay to be cancelled" },
  );
}

async function explainAbsence({ installation, open, visit }: ConsoleVisitor): Promise<void> {
  const { retried } = installation.events;
  const tab = await open();
  await visit(tab, { name: "event", path: `/events/${retried}`, heading: retried, sees: ["2 delivered"] });
  await tab.page.getByRole("button", { name: "Explain" }).click();
  const table = tab.page.getByRole("region", { name: "Partners without a delivery" });
  await table.getByRole("row", { name: `${failing.partner} No subscription matches the type. drills` }).waitFor();
  await table.getByRole("row", { name: /typo-bank The definition of the partner is rejected: \w+\./u }).waitFor();
  expect(await table.getByRole("row").count()).toBe(3);
  expect(await tab.audit()).toEqual([]);
  await tab.page.getByRole("button", { name: "Hide" }).click();
  await table.waitFor({ state: "detached" });
}

async function sendPing({ open, visit }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  const heading = "default/acme-payments";
  await visit(tab, { name: "partner", path: "/partners/default/acme-payments", heading, sees: ["Send a ping"] });
  await page.getByLabel("Tenant of the ping").selectOption("vega");
  await page.getByRole("button", { name: "Send a ping" }).click();
  const accepted = page.getByText("Accepted as").getByRole("link");
  const id = await accepted.innerText();
  expect(await tab.audit()).toEqual([]);
  await accepted.click();
  await see(tab, id, ["heliograph.ping", "vega", "HTTP 200"]);
}

async function endDeadLetters({ installation, open, visit }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  const { rejected } = installation.events;
  const sees = [rejected, "status 422"];
  await visit(tab, { name: "dead-letters", path: "/dead-letters", heading: "Dead letters", sees });
  await page.getByRole("region", { name: "Dead letters by reason" }).getByRole("link", { name: "status 422" }).click();
  await page.waitForURL(/reason=status_422$/u);
  await page.getByRole("button", { name: "Redrive all that match" }).waitFor();
  await page.getByRole("checkbox", { name: "Select this page" }).check();
  expect(await page.getByRole("checkbox", { name: `Select ${rejected} for default/north-ledger` }).isChecked()).toBe(
    true,
  );
  await page.getByRole("button", { name: "Clear selection" }).click();
  await page.getByRole("button", { name: "Redrive all that match" }).waitFor();
  await page.getByRole("checkbox", { name: "Select this page" }).check();
  await page.getByRole("button", { name: "Redrive 1 selected" }).click();
  await page.getByRole("button", { name: "Redrive 1 dead letter" }).click();
  await page.getByText("0 delivered, 1 failed of 1").waitFor();
  await page.getByRole("heading", { level: 1, name: /^Redrive / }).waitFor();
  await page
    .locator(".facts > div")
    .filter({ hasText: /^Selected ids\s*1$/u })
    .waitFor();
  await visit(tab, { name: "dead-letters", path: "/dead-letters", heading: "Dead letters", sees });
  await page
    .getByRole("button", { name: `Acknowledge ${rejected} for default/north-ledger` })
    .first()
    .click();
  const note = page.getByLabel("Note to the partner (optional)");
  // A screen so low that the panel and the row are not on it together.
  await page.setViewportSize({ width: 390, height: 300 });
  await note.press("Escape");
  await note.waitFor({ state: "detached" });
  await page.waitForFunction(() => {
    const { top, bottom } = document.activeElement?.getBoundingClientRect() ?? { top: -1, bottom: 0 };
    return document.activeElement?.textContent === "Acknowledge" && top >= 0 && bottom <= innerHeight;
  });
  await page.setViewportSize({ width: 1_280, height: 800 });
  await page.getByRole("button", { name: "Acknowledge all that match" }).click();
  const bulk = page.getByRole("region", { name: "Acknowledge", exact: true });
  await bulk.getByText("Sent to the partner with the acknowledgement").waitFor();
  await focused(note);
  // The search takes the first Escape, the panel the next one.
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await bulk.isVisible()).toBe(true);
  await page.keyboard.press("Escape");
  await bulk.waitFor({ state: "detached" });
  await page
    .getByRole("button", { name: `Acknowledge ${rejected} for default/north-ledger` })
    .first()
    .click();
  await focused(note);
  await note.fill("paid by hand");
  expect(await tab.audit()).toEqual([]);
  await page.getByRole("button", { name: "Acknowledge", exact: true }).first().click();
  await page.getByText("No dead letters", { exact: true }).waitFor();
}

const partnerPages = ["/", "/partners", "/events", "/dead-letters", "/replays", "/partners/default/acme-payments"];
const linksMax = 40;

/** Opens every page, then every link that they show; a link that the page of another partner has is not followed. */
async function walkAsPartner({ installation, open }: ConsoleVisitor): Promise<void> {
  const tab = await open();
  const { page } = tab;
  await page.goto(await installation.address("/", "partner"));
  const waiting = partnerPages.map((path) => `/console${path}`);
  const seen = new Set<string>();
  const named: string[] = [];
  for (let path = waiting.shift(); path !== undefined && seen.size < linksMax; path = waiting.shift()) {
    if (seen.has(path)) continue;
    seen.add(path);
    await page.evaluate((to) => {
      history.pushState(null, "", to);
      dispatchEvent(new PopStateEvent("popstate"));
    }, path);
    await page.locator("main h1").waitFor();
    await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" });
    if ((await page.locator("html").innerHTML()).includes(foreign)) named.push(path);
    const links = await page.locator("main a[href^='/console/']").evaluateAll((all) => {
      return all.map((link) => link.getAttribute("href") ?? "");
    });
    waiting.push(...links);
  }
  expect(named).toEqual([]);
  expect([...seen].some((path) => path.startsWith("/console/events/evt-"))).toBe(true);
  expect(seen).toContain("/console/partners/default/acme-payments");
  await page.goto("about:blank");
  const unknown = await refusalOf(tab, installation, "/partners/default/nobody-there");
  expect(await refusalOf(tab, installation, `/partners/default/${foreign}`)).toBe(unknown);
}

/** What a page says that has no answer, without the names that the address holds and without the id of the request. */
async function refusalOf({ page }: ConsoleTab, installation: ConsoleInstallation, path: string): Promise<string> {
  await page.goto("about:blank");
  await page.goto(await installation.address(path, "partner"));
  const text = await page.getByRole("alert").first().innerText();
  return text.replaceAll(/[\da-f-]{36}/gu, "ID").replaceAll(path.split("/").at(-1) ?? "", "NAME");
}

async function expectRows({ page }: ConsoleTab, ids: readonly string[]): Promise<void> {
  await page.getByRole("link", { name: ids[0] ?? "" }).waitFor();
  const rows = page.getByRole("region", { name: "Events" }).locator("tbody tr");
  await waitFor(async () => (await rows.count()) === ids.length, {
    timeoutMs: settledMsMax,
    what: "the filtered rows",
  });
}

/** A request of the admin. @throws Error when it is refused */
async function ask(installation: ConsoleInstallation, path: string, init: RequestInit = {}): Promise<unknown> {
  const headers = { authorization: `Bearer ${await installation.token("admin")}`, "content-type": "application/json" };
  const response = await fetch(installation.url + path, { ...init, headers });
  if (!response.ok) throw new Error(`${path} is answered ${response.status}: ${await response.text()}`);
  return response.json();
}
