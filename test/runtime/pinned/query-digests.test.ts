import { expect, test } from "vitest";
import { correlationHeader } from "../../../runtime/http/server/request-log.ts";
import { indexCatalogs } from "../../../runtime/metrics/catalog-index.ts";
import { partialRequestBody, partialRequestKey, probeBody } from "../../../runtime/metrics/planning/plan-peer.ts";
import { makePlan } from "../../../runtime/metrics/planning/plan.ts";
import { makeQuery, type Query } from "../../../runtime/metrics/planning/query.ts";
import type { Result } from "../../../runtime/metrics/reads/run-plan.ts";
import { contentId } from "../../../runtime/metrics/response/response-headers.ts";
import { identityOf, snapshotOf } from "../../../runtime/metrics/response/snapshots.ts";
import {
  configOf,
  everyone,
  generatedMetrics,
  parameters,
  peerStore,
  storeConfig,
  wideLimits,
} from "../metrics/oracle/universe.ts";
import { readPinned } from "./pinned-text.ts";
import { nowMs } from "./recording-nats.ts";

/** Digests by which callers and other regions name queries, data and answers. */

const stores = [storeConfig({ name: "eu", region: "eu", url: "http://eu.example:9090" }), peerStore];

function query(pairs: Readonly<Record<string, string>>): Query {
  const config = configOf(stores, generatedMetrics(stores));
  const caller = { ...everyone, tenants: ["acme"], environments: ["prod", "dev"], scopes: ["metrics:read"] };
  const limits = { A: wideLimits, B: wideLimits, C: wideLimits };
  const queryContext = { catalog: indexCatalogs(config.catalogs), quotas: { quotas: [], classDefaults: limits } };
  return makeQuery(parameters(Object.entries(pairs)), caller, queryContext, nowMs);
}

const full = query({
  metric: "payments",
  agg: "sum",
  from: "2026-01-02T00:00:00Z",
  to: "2026-01-02T01:00:00Z",
  downsample: "5m",
  group_by: "service",
  "filter[psp]": "one",
  exemplars: "true",
});
const plain = query({ metric: "queue_lag" });

const result = {
  series: [{ metric: "payments", labels: { service: "a", region: "eu" }, values: Float64Array.of(1, Number.NaN) }],
} as unknown as Result;

const over = { start_ms: 1, count: 2 };

function questions(of: Query): readonly string[] {
  const part = makePlan(of, nowMs).parts.find(({ store: held }) => held.config.region === "us");
  const asked = [...(part?.ranges ?? []), part?.newest, part?.exemplars].filter((one) => one !== undefined);
  return asked.map((one) => ("of" in one ? JSON.stringify(one.of) : ""));
}

test("digests of queries and of what they find are these", () => {
  const [question = ""] = questions(full);
  const body = partialRequestBody(question, over);
  expect({
    "identity of a query": identityOf(full),
    "identity of a query without more than its metric": identityOf(plain),
    "digests of stores": full.metrics
      .flatMap((one) => one.stores.map(({ key, digest }) => `${key} ${digest}`))
      .join("\n"),
    "digest of a metric": full.metrics.map(({ entry }) => entry.digest).join("\n"),
    snapshot: snapshotOf(result, full),
    "correlation id of a body": contentId({ data: [{ metric: "payments", values: [1, null] }], meta: { page: 1 } }),
    "header of the correlation id": correlationHeader,
    "questions to a peer": questions(full).join("\n"),
    "questions to a peer without more than a metric": questions(plain).join("\n"),
    "body of a question": body,
    "key of a question": partialRequestKey(body),
    "body of a probe": probeBody({ region: "us" }),
  }).toEqual(readPinned("query-digests.txt"));
  expect(partialRequestKey(Buffer.from(body))).toBe(partialRequestKey(body));
});
