import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { OfflinePreview } from "../../../runtime/preview/offline-preview.ts";
import { diffNotes, diffText } from "../../../cli/configuration/diff-text.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { eventText, partnerText } from "../installation.ts";

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder("diff");
  await Promise.all(["before", "after"].map((name) => mkdir(join(folder.path, name))));
});
afterEach(async () => folder.remove());

const url = "http://127.0.0.1:1/hooks/v1";
const write = (name: string, text: string): Promise<void> => writeFile(join(folder.path, name), text);
const diff = (...args: string[]) => runProgram(["diff", ...args], { cwd: folder.path });

/** Entries of lists in docs/examples. */
const dropped = {
  "metric-catalog": [["spec", "metrics", 12]],
  "query-class-quota": [["spec", "clients", 1]],
  "event-catalog": [["spec", "types", 1]],
  "webhook-partner": [],
} as const;

test("diff of two equal folders says so and ends with 0", async () => {
  await Promise.all(["before", "after"].map((name) => write(`${name}/acme.yaml`, partnerText("acme", url))));
  expect(await diff("before", "after")).toMatchObject({ code: 0, stdout: "No difference.\n" });
});

test("diff of two folders with events counts who gains and loses some, and ends with 1", async () => {
  await write("before/acme.yaml", partnerText("acme", url));
  await write("after/acme.yaml", partnerText("acme", url, { "subscriptions[0].types": ["payout.processed"] }));
  const types = ["payout.processed", "payout.failed", "kyc.done"];
  await write("events.ndjson", types.map((type, at) => eventText(`evt-${at}`, { type })).join("\n"));
  const { code, stdout } = await diff("./before", "./after", "--events", "events.ndjson", "-o", "markdown");
  expect(code).toBe(1);
  expect(stdout).toContain("| changed | `WebhookPartner/default/acme` | `subscriptions[");
  expect(stdout).toContain("3 recorded events: 3 → 1 deliveries, 0 → 2 events without a partner.");
  expect(stdout).toContain("| default/acme | 3 | 1 | 0 | 2 | -evt-1 -evt-2 |");
  const json = await diff("before", "after", "--events", "events.ndjson", "-o", "json");
  expect((JSON.parse(json.stdout) as OfflinePreview).events?.partners).toEqual([
    { partner: "default/acme", before: 3, after: 1, gained: 0, lost: 2, gained_ids: [], lost_ids: ["evt-1", "evt-2"] },
  ]);
});

test("diff names the fields that a moved class shows to partners, and those that it hides", async () => {
  const text = { type: "string" };
  const schema = { type: "object", properties: { account: text, email: text } };
  const catalog = (account: string, email: string): string =>
    JSON.stringify({
      apiVersion: "heliograph.dev/v1alpha1",
      kind: "EventCatalog",
      metadata: { namespace: "default", name: "payouts" },
      spec: {
        owner: "team",
        types: ["payout.processed", "kyc.done"].map((type) => ({
          type,
          description: "What happened.",
          sensitive: [
            { pointer: "/account", class: type === "kyc.done" ? "financial" : account },
            { pointer: "/email", class: email },
          ],
          versions: [{ version: "2026-01-01", schema, examples: [] }],
        })),
      },
    });
  const excluding = { "subscriptions[0].payload": { excludeClasses: ["financial"] } };
  const covered = { "subscriptions[0].payload": { excludeClasses: ["financial"], exclude: ["/data/account"] } };
  const included = { "subscriptions[0].payload": { excludeClasses: ["financial"], include: ["/data/email"] } };
  for (const place of ["before", "after"]) {
    await write(`${place}/acme.yaml`, partnerText("acme", url, excluding));
    await write(`${place}/covered.yaml`, partnerText("covered", url, covered));
    await write(`${place}/included.yaml`, partnerText("included", url, included));
    await write(`${place}/whole.yaml`, partnerText("whole", url));
  }
  await write("before/catalog.yaml", catalog("financial", "personal"));
  await write("after/catalog.yaml", catalog("personal", "financial"));
  const { resources } = JSON.parse((await diff("before", "after", "-o", "json")).stdout) as OfflinePreview;
  const hidden = ["/data/email"];
  expect(resources.payloads).toEqual([
    { partner: "default/acme", type: "payout.processed", visible: ["/data/account"], hidden },
    { partner: "default/acme", type: "kyc.done", visible: [], hidden },
    { partner: "default/covered", type: "kyc.done", visible: [], hidden },
    { partner: "default/covered", type: "payout.processed", visible: [], hidden },
    { partner: "default/included", type: "kyc.done", visible: [], hidden },
    { partner: "default/included", type: "payout.processed", visible: [], hidden },
  ]);
  const { stdout } = await diff("./before", "./after", "-o", "markdown");
  expect(stdout).toContain("| default/acme | payout.processed | /data/account | /data/email |");
});

test("diff has one line for each entry of a list that is added or removed", async () => {
  const examples = fileURLToPath(new URL("../../../docs/examples", import.meta.url));
  const kinds = ["metric-catalog", "query-class-quota", "event-catalog", "webhook-partner"] as const;
  for (const kind of kinds) {
    const text = await readFile(join(examples, `${kind}.yaml`), "utf8");
    const without = parseAllDocuments(text).map((document) => {
      for (const path of dropped[kind]) if (document.hasIn(path)) document.deleteIn(path);
      return document.toString();
    });
    const edited = without.join("---\n");
    await Promise.all([write(`before/${kind}.yaml`, text), write(`after/${kind}.yaml`, edited)]);
  }
  const removed = await diff("before", "after");
  expect(removed.stdout.split("\n").filter((line) => line.startsWith("    "))).toEqual([
    "    metrics[cdn_waf_block_rate]: removed",
    "    clients[status-page]: removed",
    "    types[payout.created]: removed",
  ]);
  const added = await diff("after", "before", "-o", "markdown");
  expect(added.stdout).toContain(
    "| changed | `MetricCatalog/default/operations` | `metrics[cdn_waf_block_rate]`: added |",
  );
  const { resources } = JSON.parse((await diff("before", "after", "-o", "json")).stdout) as OfflinePreview;
  const [catalog] = resources.changed;
  expect(catalog?.fields).toEqual([
    { field: "metrics[cdn_waf_block_rate]", before: expect.stringContaining('"category":"infrastructure"') as string },
  ]);
});

test("diff compares what run applies of a folder with problems, and names the rest", async () => {
  await write("before/acme.yaml", partnerText("acme", url));
  await write("before/more.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n");
  await write("after/acme.yaml", partnerText("acme", url, { "endpoint.timeoutSeconds": -1 }));
  await write("after/beta.yaml", partnerText("beta", url));
  const { code, stdout, stderr } = await diff("before", "after");
  const [invalid = "", ...lines] = stdout.trim().split("\n");
  expect([code, lines]).toEqual([1, ["+ WebhookPartner/default/beta"]]);
  const problem = "after/acme.yaml:1: spec.endpoint.timeoutSeconds: timeoutSeconds must be at least 1";
  expect(invalid).toBe(`! WebhookPartner/default/acme would be rejected: Invalid: ${problem}`);
  expect(stderr).toContain("Not compared: before/more.yaml:1: apiVersion: apps/v1 with kind Deployment");
  expect(stderr).toContain("Not compared: after/acme.yaml:1: spec.endpoint.timeoutSeconds: ");
});

test("diff of an edit that is invalid ends with 1 in every form, also without another difference", async () => {
  await write("before/acme.yaml", partnerText("acme", url));
  await write("after/acme.yaml", partnerText("acme", url, { "endpoint.timeoutSeconds": -1 }));
  const json = await diff("before", "after", "-o", "json");
  expect(json.code).toBe(1);
  expect((JSON.parse(json.stdout) as OfflinePreview).resources).toMatchObject({
    refused: [{ object: "WebhookPartner/default/acme", reason: "Invalid" }],
    unchanged: 1,
    unnamed: [],
  });
  await write("after/acme.yaml", "kind: [");
  expect(await diff("before", "after")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("! WebhookPartner/default/acme would be rejected: Unreadable: after/acme.yaml:1: "),
  });
  await write("after/acme.yaml", partnerText("acme", url));
  await write("after/web.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n");
  expect(await diff("before", "after")).toMatchObject({ code: 1, stdout: "No difference.\n" });
});

test.each([
  ["a folder that is not there", ["nowhere", "after"], 3, /the configuration nowhere cannot be read/u],
  ["a pruned folder with problems", ["before", "--prune"], 3, /before has problems; `heliograph validate before`/u],
  [
    "a window of a server beside two folders",
    ["before", "after", "--since", "1h"],
    2,
    /--since compares with a server/u,
  ],
  ["events beside a server", ["after", "--events", "x"], 2, /--events compares two folders/u],
  ["no duration", ["after", "--since", "yesterday"], 2, /--since must be a duration such as/u],
  ["no server", ["after", "--url", "http://127.0.0.1:1"], 12, /cannot be reached/u],
])("diff with %s says what to do", async (_, args, code, sentence) => {
  await write("before/broken.yaml", "kind: WebhookPartner\napiVersion: heliograph.dev/v1alpha1\nmetadata: {name: x}\n");
  const result = await diff(...args);
  expect(result).toMatchObject({ code, stdout: "" });
  expect(result.stderr).toMatch(sentence);
});

const preview: OfflinePreview = {
  resources: {
    added: ["WebhookPartner/default/new"],
    removed: ["QueryClassQuota/default/old"],
    changed: [
      {
        object: "WebhookPartner/default/acme",
        fields: [
          { field: "endpoint.url", hidden: ["before", "after"] },
          { field: "retry.scheduleSeconds", before: "[5,15]", after: "[1]" },
          { field: "retry.maxAgeSeconds", after: "60", hidden: ["before"] },
          { field: "delivery.burst", hidden: ["before"] },
          { field: "delivery.ratePerSecond", before: "5" },
          { field: "subscriptions[new]", after: "{}", hidden: ["before"] },
          { field: "subscriptions[old]", hidden: ["before"] },
          { field: "subscriptions[older]", before: "{}" },
          { field: "subscriptions[secret]", hidden: ["after"] },
        ],
      },
    ],
    unchanged: 4,
    refused: [
      { object: "MetricCatalog/default/two", reason: "Conflicted", message: "the metric x | y belongs to <b>" },
    ],
    unnamed: ["WebhookPartner/default/other"],
  },
  events: null,
};

test("the text of a difference has one line per resource and field", () => {
  expect(diffText(preview, "text").split("\n")).toEqual([
    "! MetricCatalog/default/two would be rejected: Conflicted: the metric x | y belongs to <b>",
    "+ WebhookPartner/default/new",
    "- QueryClassQuota/default/old",
    "~ WebhookPartner/default/acme",
    "    endpoint.url: changed (values hidden)",
    "    retry.scheduleSeconds: [5,15] → [1]",
    "    retry.maxAgeSeconds: (hidden) → 60",
    "    delivery.burst: (hidden) → (not set)",
    "    delivery.ratePerSecond: 5 → (not set)",
    "    subscriptions[new]: added",
    "    subscriptions[old]: removed",
    "    subscriptions[older]: removed",
    "    subscriptions[secret]: added",
    "",
  ]);
});

test("the text of a catalog edit names what it rejects, and the partners", () => {
  const events = {
    read: 9,
    rejected: {
      count: 3,
      accepted: 1,
      types: [{ type: "payout.done", version: "2026-01-01", code: "invalid_data", count: 3, ids: ["evt-1", "evt-2"] }],
    },
    deliveries: { before: 9, after: 9 },
    unrouted: { before: 0, after: 0 },
    partners: [
      {
        partner: "shop/acme",
        before: 9,
        after: 9,
        gained: 0,
        lost: 0,
        gained_ids: [],
        lost_ids: [],
        rejected: 3,
        changed: 2,
      },
    ],
  };
  const lines = diffText({ ...preview, events }, "text").split("\n");
  expect(lines.slice(lines.findIndex((line) => line.startsWith("9 recorded")))).toEqual([
    "9 recorded events: 9 → 9 deliveries, 0 → 0 events without a partner.",
    "3 of them would be rejected at ingest, and 1 no longer.",
    "",
    "TYPE          VERSION      ERROR          EVENTS   FIRST EVENTS",
    "payout.done   2026-01-01   invalid_data   3        evt-1 evt-2",
    "",
    "PARTNER     BEFORE   AFTER   GAINS   LOSES   FIRST EVENTS   REJECTED   OTHER PAYLOAD",
    "shop/acme   9        9       0       0                      3          2",
    "",
  ]);
});

test("the Markdown of a difference holds no markup of a resource", () => {
  const text = diffText(preview, "markdown");
  expect(text).toContain(String.raw`Conflicted: the metric x \| y belongs to \<b\>`);
  expect(text.split("\n").filter((line) => line.startsWith("| "))).toHaveLength(14);
});

test("notes name what was not compared", () => {
  const notes = diffNotes({
    ...preview,
    events: {
      from: "2026-01-01T00:00:00.000Z",
      to: "2026-01-03T00:00:00.000Z",
      oldest_event: "2026-01-02T00:00:00.000Z",
      complete: false,
      attempts: { oldest_attempt: "2026-01-02T12:00:00.000Z", events: 2_000, skipped: 5, partners: [] },
      simulated: null,
      read: 1,
      rejected: { count: 0, accepted: 0, types: [] },
      deliveries: { before: 0, after: 0 },
      unrouted: { before: 0, after: 0 },
      partners: [],
    },
  });
  expect(notes.map((note) => note.split(" ").slice(0, 4).join(" "))).toEqual([
    "1 objects on the",
    "Events: stored since 2026-01-02T00:00:00.000Z.",
    "Attempts for 5 more",
    "The window has more",
    "Not compared: bytes of",
  ]);
});
