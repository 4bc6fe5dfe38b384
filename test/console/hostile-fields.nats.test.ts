import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findBrowser, startConsoleBrowser, type ConsoleBrowser, type ConsoleTab } from "./console-browser.ts";
import {
  admin,
  startWebhookInstallation,
  type Claims,
  type PartnerAnswer,
  type WebhookInstallation,
} from "./webhook-installation.ts";

const startMsMax = 120_000;
const found = await findBrowser();
/** Runs as soon as it is taken for markup. */
const payload = (name: string): string =>
  `"><img/src="x"/alt="${name}"/onerror="globalThis.ran=1"><script>globalThis.ran=1</script>`;

interface HostileRow {
  /** The field, and who controls it. */
  readonly field: string;
  readonly eventId: string;
  readonly producer?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly answer?: PartnerAnswer;
  /** Text that the page shows as it is. */
  readonly shows: string;
}

const eventPath = ({ eventId }: HostileRow): string => `/events/${encodeURIComponent(eventId)}`;
const refused = { status: 422 } as const;

const rows: readonly HostileRow[] = [
  {
    field: "the body that a partner answers",
    eventId: "evt-body",
    answer: { ...refused, body: payload("body") },
    shows: payload("body"),
  },
  ...["content-type", "location", "retry-after", "x-request-id", "x-trace-id"].map((name) => ({
    field: `the header ${name} that a partner answers`,
    eventId: `evt-${name}`,
    answer: { ...refused, headers: { [name]: payload(name) } },
    shows: payload(name),
  })),
  { field: "the id that a producer gives", eventId: payload("id").replaceAll(" ", ""), shows: payload("id") },
  {
    field: "the data that a producer sends, with its names",
    eventId: "evt-data",
    data: { [payload("name")]: [payload("data")] },
    shows: payload("data").replaceAll('"', '\\"'),
  },
  {
    field: "the name of a producer",
    eventId: "evt-producer",
    producer: payload("producer"),
    shows: payload("producer"),
  },
  {
    field: "an address that the data of a producer holds",
    eventId: "evt-address",
    data: { link: "javascript:globalThis.ran=1" },
    shows: "javascript:globalThis.ran=1",
  },
];

describe.skipIf("missing" in found)("nothing that others write runs in the console:", () => {
  let installation: WebhookInstallation;
  let browser: ConsoleBrowser;
  let tab: ConsoleTab;

  beforeAll(async () => {
    [installation, browser] = await Promise.all([startWebhookInstallation(), startConsoleBrowser(found)]);
    tab = await browser.open();
    for (const { eventId, producer, data = {}, answer } of rows) {
      const own = answer === undefined ? data : { ...data, answer };
      await installation.publish({ eventId, data: own, ...(producer === undefined ? {} : { producer }) });
    }
  }, startMsMax);

  afterAll(async () => {
    await browser?.close();
    await installation?.stop();
  }, startMsMax);

  /** Opens a page, waits for a text on it, and finds what it should not hold. */
  const findingsOf = async (path: string, shows: string, reader: Claims = admin): Promise<readonly string[]> => {
    const { page, faults } = tab;
    await page.goto("about:blank");
    await page.goto(await installation.address(path, reader));
    await page.getByText(shows, { exact: false }).first().waitFor();
    return [...(await markupOf(page)), ...faults];
  };

  test.each(rows.map((row) => [row.field, row] as const))("%s", async (_field, row) => {
    expect(await findingsOf(eventPath(row), row.shows)).toEqual([]);
  });

  test("all of them in the list of events", async () => {
    expect(await findingsOf("/events", payload("id"))).toEqual([]);
  });

  test("the name of a client that asked for a replay", async () => {
    const hostile = { ...admin, client_id: payload("client") };
    const body = JSON.stringify({ event_ids: ["evt-body"] });
    const { status } = await installation.ask("/webhooks/replay", { method: "POST", body }, hostile);
    expect(status).toBe(202);
    expect(await findingsOf("/replays", payload("client"))).toEqual([]);
  });

  test("the name of the client that is signed in", async () => {
    const hostile = { ...admin, client_id: payload("client") };
    expect(await findingsOf("/partners", payload("client"), hostile)).toEqual([]);
  });

  test("values of the address, which the filters show", async () => {
    const query = new URLSearchParams({ type: payload("type"), partner: payload("partner") });
    expect(await findingsOf(`/events?${query.toString()}`, "No events match")).toEqual([]);
    expect(await tab.page.getByLabel("Type").inputValue()).toBe(payload("type"));
  });

  test("and the search for markup finds some", async () => {
    await tab.page.goto("about:blank");
    await tab.page.setContent(`<p title="${payload("title")}</p>`);
    expect(await markupOf(tab.page)).toEqual(expect.arrayContaining(["img", "[onerror]"]));
  });
});

/** Selectors of elements that only a payload makes, and `ran` when a script of one was run. */
async function markupOf(page: ConsoleTab["page"]): Promise<readonly string[]> {
  return page.evaluate(() => {
    const selectors = ["img", "main script", "[onerror]", "a[href^='javascript:' i]"].filter((one) => {
      return document.querySelector(one) !== null;
    });
    return "ran" in globalThis ? ["ran", ...selectors] : selectors;
  });
}
