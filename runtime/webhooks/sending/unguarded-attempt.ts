import { makeAttempt, type AttemptResult } from "./attempt.ts";
import { Connections } from "./connections.ts";
import { createResolver } from "./dns.ts";
import { guardedConnector } from "./guarded-connect.ts";

/** One request to any address, for tools of a person's own machine. */
interface UnguardedRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly timeoutMs: number;
  readonly responseBytesMax: number;
}

/**
 * Makes one attempt on a connection of its own, with the client that sends deliveries. So an endpoint looks the same to
 * a tool as to the sender. No address is checked. Never rejects.
 */
export async function makeUnguardedAttempt(request: UnguardedRequest): Promise<AttemptResult> {
  const { timeoutMs } = request;
  const connections = new Connections({ idleMs: 0, idleMsMax: 0, ageMsMax: timeoutMs });
  const connect = guardedConnector({ guard: undefined, tls: {}, resolve: createResolver(), timeoutMs });
  try {
    return await makeAttempt(connections, connect, { ...request, method: "POST" });
  } finally {
    connections.destroy();
  }
}
