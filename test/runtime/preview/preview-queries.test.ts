import type { PreviewedQueries } from "../../../api/previews.ts";
import { expect, test } from "vitest";
import { previewRoutes } from "../../../runtime/http/routes/preview.ts";
import type { ApiRequest } from "../../../runtime/http/server/route.ts";
import { noAttempts } from "../../../runtime/preview/attempt-changes.ts";
import { editedConfig } from "../../../runtime/preview/edited-config.ts";
import { noMatches } from "../../../runtime/preview/match-changes.ts";
import { effectsOf } from "../../../runtime/preview/preview-effect.ts";
import {
  mayReadPreview,
  previewResponse,
  type PreviewCaller,
  type PreviewJob,
} from "../../../runtime/preview/preview-job.ts";
import { configOf } from "../webhooks/engine-fixture.ts";

const base = configOf();
const edited = editedConfig(base, { resources: [], prune: false });
const everyone: PreviewCaller = { client: "platform", tenants: ["*"], metrics: ["*"] };
const queries: PreviewedQueries = {
  since: "2026-01-01T00:00:00.000Z",
  pods: { live: 1, answered: 1 },
  seen: 1,
  judged: 1,
  refused: 0,
  allowed: 0,
  dearer: 0,
  cheaper: 0,
  shapes: [],
};

const job = (caller: PreviewCaller): PreviewJob => ({
  ...caller,
  id: "1",
  createdAt: "2026-01-01T00:00:00.000Z",
  status: "completed",
  base: "digest",
  prune: false,
  effect: { added: [], removed: [], changed: [], unchanged: 0, refused: [], unnamed: [] },
  queries,
  cursor: 0,
  tally: noMatches(),
  attempts: noAttempts(),
  restarts: 0,
});

test("a preview judges queries with the rights of its caller", async () => {
  const asked: object[] = [];
  const judgeEdit = async (_before: object, _after: object, reader: object): Promise<PreviewedQueries> => {
    asked.push(reader);
    return queries;
  };
  const judgedFor = async (caller: PreviewCaller) => (await effectsOf({ judgeEdit }, base, edited, caller)).queries;
  expect(await judgedFor({ ...everyone, tenants: ["acme"], metrics: ["lag"] })).toBe(queries);
  expect(asked).toEqual([{ tenants: ["acme"], metrics: ["lag"] }]);
  expect(await judgedFor({ ...everyone, partners: ["default/acme"] })).toBeUndefined();
  expect(asked).toHaveLength(1);
});

test("a preview with queries is visible to callers with all its metrics only", () => {
  const stored = job({ ...everyone, metrics: ["lag"] });
  expect(mayReadPreview(stored, everyone)).toBe(true);
  expect(mayReadPreview(stored, { ...everyone, metrics: ["lag", "cpu"] })).toBe(true);
  expect(mayReadPreview(stored, { ...everyone, metrics: ["cpu"] })).toBe(false);
  expect(mayReadPreview(job(everyone), { ...everyone, metrics: ["lag"] })).toBe(false);
});

test("a simulation that the version before stored is not returned, and the header says that it is deprecated", async () => {
  const simulated = { complete: true, left_out: 0, not_simulated: [], partners: [] };
  const stored = { ...job(everyone), window: { fromMs: 0, lastSeq: 1 }, simulated };
  const get = async () => previewResponse(stored);
  const read = previewRoutes({ get, start: get }).find(({ method }) => method === "GET");
  const response = await read?.handle({
    path: { id: "1" },
    caller: { ...everyone, scopes: [] },
  } as unknown as ApiRequest);
  expect(response).toMatchObject({
    status: 200,
    headers: { Deprecation: "@1795737600" },
    body: { events: { simulated: null, read: 0 } },
  });
});

test("a preview with the usage of all clients is visible with that right only", () => {
  const removed = [
    { metric: "lag", what: "metric", name: null, clients: [], more_clients: 0, unknown_requests: 0 },
  ] as const;
  const about = { from: "2026-01-01T00:00:00.000Z", complete: true, omitted: 0, removed: [...removed] };
  const all = { ...job(everyone), readers: { ...about, clients_shown: "all" as const } };
  const own = { ...all, readers: { ...about, clients_shown: "own" as const } };
  expect(mayReadPreview(all, { ...everyone, client: "finance", seesAllUsage: true })).toBe(true);
  expect(mayReadPreview(all, everyone)).toBe(false);
  expect(mayReadPreview(own, everyone)).toBe(true);
  expect(mayReadPreview(own, { ...everyone, client: "other" })).toBe(false);
  expect(mayReadPreview({ ...all, readers: { ...all.readers, removed: [] } }, everyone)).toBe(true);
  expect(previewResponse(all).readers).toBe(all.readers);
});
