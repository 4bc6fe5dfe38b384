import { metricsServerOver } from "../../runtime/http/routes/metrics-server.ts";
import { healthyProbe, startScriptedStore, success } from "../../runtime/stores/scripted-store.ts";
import { heldBytes } from "../harness/held-bytes.ts";
import { waitFor } from "../../support/wait.ts";
import { rounds, type Bench } from "../harness/bench.ts";
import type { Measured } from "../harness/figures.ts";
import { endMs, hourMs } from "./long-store.ts";
import { windowOf } from "./requests.ts";
import type { MetricsStage } from "./stage.ts";

const panelSeries = Array.from({ length: 50 }, (_, index) => ({
  metric: { service: `s${index}` },
  values: Array.from({ length: 180 }, (_value, place) => [endMs / 1_000 - (179 - place) * 60, "123.456"]),
}));

/**
 * What this process holds for each of some queries while a store has answered half of it. They are no more than a store
 * has connections.
 */
export async function queryMemory(_stage: MetricsStage, bench: Bench): Promise<readonly Measured[]> {
  const queries = 12;
  const held: (() => void)[] = [];
  const answer = success({ resultType: "matrix", result: panelSeries });
  const newest = success({ resultType: "vector", result: [{ metric: {}, value: [0, String(endMs / 1_000)] }] });
  const store = await startScriptedStore(
    healthyProbe((response, asked) => {
      if (asked.path.endsWith("/query")) newest(response, asked);
      else if (asked.form.get("query")?.includes("sum_over_time") === true) answer(response, asked);
      else held.push(() => answer(response, asked));
    }),
  );
  const server = metricsServerOver({ eu: store.url }, { now: () => endMs, deadlineMs: 20_000 });
  const window = windowOf(endMs - 3 * hourMs, endMs, "1m");
  // Equal queries would share their reads.
  const path = (place: number): string =>
    `/v1/metrics/query?metric=lag&filter[tenant]=brand-${place}&group_by=service&${window}`;
  const one = async (): Promise<number> => {
    const before = await heldBytes();
    const running = Array.from({ length: queries }, (_, place) => server.get(path(place)));
    await waitFor(() => held.length === queries, { timeoutMs: 30_000, what: "the queries to wait" });
    const kibibytes = ((await heldBytes()) - before) / 1_024;
    for (const go of held.splice(0)) go();
    await Promise.all(running);
    return kibibytes / queries;
  };
  const values = await rounds(bench.rounds, one);
  await server.close();
  await store.close();
  return [{ name: "memory of a query that waits for a store", unit: "KiB", values, bar: { atMost: 1_024 } }];
}
