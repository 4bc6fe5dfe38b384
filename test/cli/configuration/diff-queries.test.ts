import type { Preview, PreviewedQueries } from "../../../api/previews.ts";
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
