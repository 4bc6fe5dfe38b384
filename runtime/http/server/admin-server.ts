import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import { addConfigz, type ConfigView } from "./configz.ts";
import { createHttpServer, type ServerOptions } from "./http-server.ts";

/** State of one part of the program. */
export interface PartHealth {
  readonly name: string;
  readonly ok: boolean;
  /** The fault; present only when there is one. */
  readonly detail?: string;
}

interface AdminServerOptions extends ServerOptions {
  readonly registry: Registry;
  readonly health: () => readonly PartHealth[];
  readonly config: ConfigView;
}

/**
 * The server for operators: `/healthz` (200 while the process runs, with degraded parts), `/readyz` (503 unless every
 * part is healthy), `/metrics` (Prometheus text) and `/configz`. The first three need no token, so its port must not be
 * published.
 */
export function createAdminServer(options: AdminServerOptions): FastifyInstance {
  const { registry, health, config } = options;
  const app = createHttpServer(options);
  app.get("/healthz", async () => ({ status: isWell(health()) ? "ok" : "degraded", parts: health() }));
  app.get("/readyz", async (_request, reply) => {
    const ready = isWell(health());
    return reply.code(ready ? 200 : 503).send({ ready, parts: health() });
  });
  app.get("/metrics", async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
  addConfigz(app, config);
  return app;
}

function isWell(parts: readonly PartHealth[]): boolean {
  return parts.every(({ ok }) => ok);
}
