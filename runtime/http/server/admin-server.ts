import type { FastifyInstance } from "fastify";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { ApiError } from "../../errors/api-error.ts";
import { addConfigz, isOnThisMachine, type ConfigView } from "./configz.ts";
import { acceptsOpenMetrics, openMetricsType } from "../../tracing/open-metrics.ts";
import { createHttpServer, type ServerOptions } from "./http-server.ts";

/** State of one part of the program. */
export interface PartHealth {
  readonly name: string;
  readonly ok: boolean;
  /** The fault; present only when there is one. */
  readonly detail?: string;
}

export interface AdminServerOptions extends ServerOptions {
  /** Metrics as Prometheus reads them. */
  readonly registry: { readonly contentType: string; metrics(): Promise<string> };
  /** The same as OpenMetrics, for scrapers that ask for it. @default every scraper gets the text of Prometheus */
  readonly openMetrics?: (() => Promise<string>) | undefined;
  readonly health: () => readonly PartHealth[];
  readonly config: ConfigView;
}

/**
 * The server for operators: `/healthz` (200 while the process runs, with degraded parts and the hash of the
 * configuration), `/readyz` (503 unless every part is healthy), `/metrics` (for Prometheus) and `/configz`. The first
 * three need no token, so its port must not be published.
 */
export function createAdminServer(options: AdminServerOptions): FastifyInstance {
  const { registry, openMetrics, health, config } = options;
  const app = createHttpServer(options);
  app.addHook("onRequest", async ({ socket, headers }) => {
    if (isOnThisMachine(socket) && !isNameOfThisMachine(headers.host)) {
      throw new ApiError(
        "invalid_request",
        "On this machine, the Host header must be an IP address, localhost or the name of the machine.",
      );
    }
  });
  app.get("/healthz", async () => {
    const { hash: config_hash } = config.report();
    return { status: isHealthy(health()) ? "ok" : "degraded", parts: health(), config_hash };
  });
  app.get("/readyz", async (_request, reply) => {
    const ready = isHealthy(health());
    return reply.code(ready ? 200 : 503).send({ ready, parts: health() });
  });
  app.get("/metrics", async (request, reply) => {
    if (openMetrics !== undefined && acceptsOpenMetrics(request.headers.accept))
      return reply.type(openMetricsType).send(await openMetrics());
    return reply.type(registry.contentType).send(await registry.metrics());
  });
  addConfigz(app, config);
  return app;
}

/**
 * A page in a browser of this machine may resolve its own name to this machine and then read the port as its own
 * origin. Its name stays in the `Host` header.
 */
function isNameOfThisMachine(host: string | undefined): boolean {
  const name = URL.parse(`http://${host ?? "localhost"}`)?.hostname.toLowerCase();
  if (name === undefined) return false;
  return isIP(name.replace(/^\[|\]$/gu, "")) !== 0 || name === "localhost" || name === hostname().toLowerCase();
}

function isHealthy(parts: readonly PartHealth[]): boolean {
  return parts.every(({ ok }) => ok);
}
