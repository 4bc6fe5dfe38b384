import { Counter, Gauge, Registry } from "prom-client";
import { withoutAnswer } from "../../../kube/client/call.ts";
import type { ShardedState } from "./shard-set.ts";

/** Metrics of the configuration's source. */
export type KubernetesMetrics = ReturnType<typeof createKubernetesMetrics>;

/** @param registry registry of the metrics. @default a private one */
export function createKubernetesMetrics(registry = new Registry()) {
  const registers = [registry];
  const requests = new Counter({
    name: "heliograph_config_api_requests_total",
    help: "Requests to the API server for the configuration, by HTTP status; none without a response.",
    labelNames: ["status"],
    registers,
  });
  const versions = new Counter({
    name: "heliograph_config_shards_total",
    help: "Versions of shards that were read, by outcome (good, bad).",
    labelNames: ["outcome"],
    registers,
  });
  const receivedAt = new Gauge({
    name: "heliograph_config_api_heard_timestamp_seconds",
    help: "Time of the last data from the API server, bookmarks of watches included; Unix seconds.",
    registers,
  });
  const failed = new Gauge({
    name: "heliograph_config_shard_errors",
    help: "Shards whose newest version is not applied.",
    registers,
  });
  const refused = new Gauge({
    name: "heliograph_config_resource_errors",
    help: "Resources that are not applied as their shards hold them.",
    registers,
  });
  return {
    requests: {
      inc: ({ code }: { readonly code: string }) => requests.inc({ status: code === withoutAnswer ? "none" : code }),
    },
    dataReceived: () => receivedAt.set(Date.now() / 1000),
    shard: (outcome: "good" | "bad") => versions.inc({ outcome }),
    joined: ({ shards, errors }: ShardedState) => {
      failed.set(Object.values(shards).filter(({ error }) => error !== undefined).length);
      refused.set(errors.length);
    },
  };
}
