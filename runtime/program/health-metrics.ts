import { Gauge, type Registry } from "prom-client";
import type { PartHealth } from "../http/server/admin-server.ts";

/** Registers gauges of the pod's health, computed at each scrape. */
export function registerHealthMetrics(registry: Registry, health: () => readonly PartHealth[]): void {
  const registers = [registry];
  const ready: Gauge = new Gauge({
    registers,
    name: "heliograph_pod_ready",
    help: "1 while the pod is ready, as /readyz reports it.",
    collect: () => ready.set(health().every(({ ok }) => ok) ? 1 : 0),
  });
  const healthy = new Gauge({
    registers,
    name: "heliograph_part_healthy",
    help: "1 while a part of the pod is healthy; /readyz has the details.",
    labelNames: ["part"] as const,
    collect: () => {
      healthy.reset();
      for (const { name, ok } of health()) healthy.set({ part: name }, ok ? 1 : 0);
    },
  });
}
