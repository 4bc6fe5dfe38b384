import { Gauge, type Registry } from "prom-client";
import type { NatsConnectionHandle } from "../nats/connection/connect.ts";

/** Shows whether a rotation of the credentials of NATS has reached this process. */
export function registerNatsMetrics(
  registry: Registry,
  nats: Pick<NatsConnectionHandle, "hasPendingCredentials">,
): void {
  void new Gauge({
    registers: [registry],
    name: "heliograph_nats_credentials_pending",
    help: "1 while the files have credentials of NATS that are not in use.",
    aggregator: "max",
    collect() {
      this.set(nats.hasPendingCredentials() ? 1 : 0);
    },
  });
}
