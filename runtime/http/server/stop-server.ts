import type { FastifyInstance } from "fastify";

const sweepMs = 50;

/**
 * Takes no new connections, lets requests under way finish and cuts off what is left after `drainMs`. Resolves when
 * every connection is closed.
 */
export async function stopServer(app: FastifyInstance, drainMs: number): Promise<void> {
  // A connection that was busy when closing began would otherwise idle on until its keep-alive ends.
  const sweep = setInterval(() => app.server.closeIdleConnections(), sweepMs);
  const cut = setTimeout(() => app.server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}
