import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import { createHttpServer, type ServerOptions } from "./server.ts";

/** State of one part of the program. */
export interface PartHealth {
  readonly name: string;
  readonly ok: boolean;
  /** Why it is not; present only then. */
  readonly detail?: string;
}

/** Which configuration is obeyed. */
export interface ConfigReport {
  /** sha256 of the configuration's canonical JSON, lowercase hex. */
  readonly hash: string;
  /** ISO 8601 UTC time since which it is obeyed. */
  readonly appliedAt: string;
  readonly partners: number;
  readonly catalogs: number;
  readonly quotas: number;
  /** Resources and files that are not obeyed as written. */
  readonly problems: number;
}

export interface AdminServerOptions extends ServerOptions {
  readonly registry: Registry;
  readonly health: () => readonly PartHealth[];
  /** Undefined before the first configuration is applied. */
  readonly config: () => ConfigReport | undefined;
}

/**
 * The server for operators, never for callers: `/healthz` (alive; says what is degraded), `/readyz` (503 unless every
 * part is well), `/metrics` (Prometheus text) and `/configz`. It needs no token, so its port must not be published.
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
  app.get("/configz", async (_request, reply) => {
    const report = config();
    if (report === undefined) return reply.code(503).send({ hash: null });
    const { appliedAt, ...rest } = report;
    return reply.send({ ...rest, applied_at: appliedAt });
  });
  return app;
}

function isWell(parts: readonly PartHealth[]): boolean {
  return parts.every(({ ok }) => ok);
}
