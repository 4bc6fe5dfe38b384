import type { Preview, PreviewedQueries, PreviewedReaders } from "../../../api/previews.ts";
import { expect, test } from "vitest";
import { diffNotes, diffText } from "../../../cli/configuration/diff-text.ts";

const queries: PreviewedQueries = {
  since: "2026-01-31T12:00:00.000Z",
  pods: { live: 2, answered: 1 },
  seen: 9,
  judged: 7,
  refused: 4,
  allowed: 0,
  dearer: 1,
  cheaper: 0,
  shapes: [
    {
      effect: "refused",
      count: 4,
      client: "dash|boards",
      metrics: ["cpu_util"],
      aggregation: "max",
      group_by: ["service"],
      filters: ["tenant"],
      window_seconds: 86_400,
      step: "5m",
      before: { class: "A", cost: 288, code: null },
      after: { class: null, cost: null, code: "invalid_group_by" },
    },
  ],
};
const found: Preview = {
  preview_id: "1",
  status: "completed",
  created_at: "2026-01-31T12:00:00.000Z",
  base: "digest",
  resources: {
    added: ["MetricCatalog/default/more"],
    removed: [],
    changed: [],
    unchanged: 0,
    refused: [],
    unnamed: [],
  },
  events: null,
  queries,
  detail: null,
};

test("a difference shows the recorded queries as text", () => {
  const lines = diffText(found, "text").split("\n");
  expect(lines).toContain(
    "7 recorded queries: 4 would be rejected, 0 would be allowed, 1 would cost more, 0 would cost less.",
  );
  expect(lines.at(-2)?.split(/ {2,}/u)).toEqual([
    "refused",
    "cpu_util max by service where tenant over 1d step 5m",
    "dash|boards",
    "4",
    "288 units, class A",
    "invalid_group_by",
  ]);
  expect(diffNotes(found)).toContain(
    "Queries: 7 of 9 compared, recorded since 2026-01-31T12:00:00.000Z by 1 of 2 pods; equal requests count once.",
  );
});

test("a difference names the metrics whose values change", () => {
  const metric = { metric: "api_success", fields: ["source.numerator"], queries: 24, objectives: ["api-availability"] };
  const changed = { ...queries, other_values: 24, changed_metrics: [metric] };
  const text = diffText({ ...found, queries: changed }, "text");
  expect(text).toContain("0 would cost less, 24 would return other values.\n");
  const line =
    "The values of api_success change (source.numerator): 24 recorded queries, objectives api-availability.\n";
  expect(text).toContain(line);
  expect(diffText({ ...found, queries: { ...changed, judged: 0 } }, "text")).toContain(line);
});

test("a difference shows the recorded queries as a table of Markdown", () => {
  const markdown = diffText(found, "markdown");
  expect(markdown).toContain("| Effect | Query | Client | Count | Before | After |");
  expect(markdown).toContain(String.raw`| dash\|boards | 4 | 288 units, class A | invalid\_group\_by |`);
});

test("a difference without recorded queries has no sentence about them", () => {
  const none = { ...found, queries: { ...queries, seen: 0, judged: 0, refused: 0, dearer: 0, shapes: [] } };
  expect(diffText(none, "text")).not.toContain("queries");
  expect(diffText({ ...found, queries: null }, "text")).not.toContain("queries");
});

const readers: PreviewedReaders = {
  from: "2026-01-01T12:00:00.000Z",
  complete: true,
  clients_shown: "all",
  omitted: 0,
  removed: [
    {
      metric: "lag",
      what: "metric",
      name: null,
      clients: [
        { client: "shop", requests: 120 },
        { client: "bot|1", requests: 1 },
      ],
      more_clients: 3,
      unknown_requests: 0,
    },
    { metric: "cpu_util", what: "label", name: "psp", clients: [], more_clients: 0, unknown_requests: 0 },
  ],
};
const cellsOf = (given: PreviewedReaders): readonly (readonly string[])[] =>
  diffText({ ...found, readers: given }, "text")
    .split("\n")
    .map((line) => line.split(/ {2,}/u));

test("a difference names the clients that used what is removed", () => {
  const cells = cellsOf(readers);
  expect(cells).toContainEqual(["Clients in the last 30 days of what is removed:"]);
  expect(cells).toContainEqual(["lag", "shop", "120"]);
  expect(cells).toContainEqual(["lag", "3 more clients"]);
  expect(cells).toContainEqual(["cpu_util, label psp", "none", "0"]);
  expect(diffText({ ...found, readers }, "markdown")).toContain(String.raw`| lag | bot\|1 | 1 |`);
  expect(diffNotes({ ...found, readers }).join()).not.toMatch(/incomplete|Only your client/u);
});

test.each<[string, Partial<PreviewedReaders>, RegExp]>([
  ["usage may be missing", { complete: false }, /Usage since 2026-01-01T12:00:00.000Z is incomplete/u],
  ["the token sees its own usage", { clients_shown: "own" }, /Only your client is shown/u],
])("a difference never says none if %s", (_name, change, note) => {
  const some = { ...readers, ...change };
  expect(cellsOf(some)).toContainEqual(["cpu_util, label psp", "none known", "0"]);
  expect(diffNotes({ ...found, readers: some }).join()).toMatch(note);
});

test("a difference without usage calls the clients unknown", () => {
  const removed = readers.removed.map((one) => ({ ...one, clients: null, more_clients: 0 }));
  const none = { ...readers, complete: false, removed, unavailable: "usage cannot be read from NATS" };
  expect(cellsOf(none)).toContainEqual(["lag", "unknown", "unknown"]);
  expect(diffNotes({ ...found, readers: none })).toContain(
    "Clients that use what is removed are unknown: usage cannot be read from NATS.",
  );
});

test("a server without usage in previews, and two folders, leave a note about an edited catalog", () => {
  const resources = { ...found.resources, removed: ["MetricCatalog/default/old"] };
  expect(diffNotes({ ...found, resources })).toContain("Not compared: clients that use what is removed from metrics.");
  expect(diffNotes({ resources, events: null }).join()).toContain("clients that use what is removed");
  expect(diffNotes(found).join()).not.toContain("clients that use");
});
