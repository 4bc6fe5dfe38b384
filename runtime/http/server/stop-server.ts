import type { FastifyInstance } from "fastify";

const sweepMs = 50;

/**
 * Stops a server: refuses new connections, lets running requests finish and closes the rest after `drainMs`. Resolves
 * when every connection is closed.
 */
export async function stopServer(app: FastifyInstance, drainMs: number): Promise<void> {
  // A connection that was busy at the start of the stop would otherwise stay open until its keep-alive ends.
  const sweep = setInterval(() => app.server.closeIdleConnections(), sweepMs);
  const cut = setTimeout(() => app.server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}
