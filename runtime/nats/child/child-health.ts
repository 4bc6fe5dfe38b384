import { connect } from "@nats-io/transport-node";

const timeoutMs = 2_000;

/**
 * Fault of a server in its own words; undefined when it is healthy. After a write error, as on a full disk, a stream
 * accepts nothing and does not answer until the server restarts. Only the system account reports this.
 * @throws Error when the server does not answer
 */
export async function serverFault(port: number, user: string, password: string): Promise<string | undefined> {
  const connection = await connect({
    servers: `nats://127.0.0.1:${port}`,
    user,
    pass: password,
    reconnect: false,
    timeout: timeoutMs,
  });
  try {
    const answer = await connection.request("$SYS.REQ.SERVER.PING.HEALTHZ", "", { timeout: timeoutMs });
    const { data } = answer.json<{ readonly data?: { readonly status?: string; readonly error?: string } }>();
    return data?.status === "ok" ? undefined : (data?.error ?? "unknown");
  } finally {
    await connection.close();
  }
}
