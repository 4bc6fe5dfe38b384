import { Registry } from "prom-client";
import { noResponse } from "../../../kube/client/call.ts";
import { instrumentsOf } from "../../../limits/instruments.ts";
import type { ShardedState } from "./shard-set.ts";

/** Metrics of the configuration's source. */
export type KubernetesMetrics = ReturnType<typeof createKubernetesMetrics>;

/** @param registry registry of the metrics. @default a private one */
export function createKubernetesMetrics(registry = new Registry()) {
  const { counter, gauge } = instrumentsOf(registry, "heliograph_config_");
  const requests = counter(
    "api_requests_total",
    "Requests to the API server for the configuration, by HTTP status; none without a response.",
    ["status"],
  );
  const versions = counter("shards_total", "Versions of shards that were read, by outcome (good, bad).", ["outcome"]);
  const receivedAt = gauge(
    "api_heard_timestamp_seconds",
    "Time of the last data from the API server, bookmarks of watches included; Unix seconds.",
  );
  const failed = gauge("shard_errors", "Shards whose newest version is not applied.");
  const resourceErrors = gauge("resource_errors", "Resources that are not applied as their shards hold them.");
  return {
    requests: {
      inc: ({ code }: { readonly code: string }) => requests.inc({ status: code === noResponse ? "none" : code }),
    },
    dataReceived: () => receivedAt.set(Date.now() / 1000),
    shard: (outcome: "good" | "bad") => versions.inc({ outcome }),
    joined: ({ shards, errors }: ShardedState) => {
      failed.set(Object.values(shards).filter(({ error }) => error !== undefined).length);
      resourceErrors.set(errors.length);
    },
  };
}
