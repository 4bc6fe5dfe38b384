import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { PartHealth } from "../../../runtime/http/server/admin-server.ts";
import { registerHealthMetrics } from "../../../runtime/program/status.ts";

test("the health of a pod is a gauge of the pod and one of each of its present parts, at each scrape", async () => {
  const registry = new Registry();
  let parts: readonly PartHealth[] = [
    { name: "process", ok: true },
    { name: "nats", ok: false },
  ];
  registerHealthMetrics(registry, () => parts);
  const series = async () => (await registry.metrics()).split("\n").filter((line) => line.startsWith("heliograph"));
  expect(await series()).toEqual([
    "heliograph_pod_ready 0",
    'heliograph_part_healthy{part="process"} 1',
    'heliograph_part_healthy{part="nats"} 0',
  ]);
  parts = [{ name: "process", ok: true }];
  expect(await series()).toEqual(["heliograph_pod_ready 1", 'heliograph_part_healthy{part="process"} 1']);
});
