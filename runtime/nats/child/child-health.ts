import { connect } from "@nats-io/transport-node";

const timeoutMs = 2_000;

/** Health of a server as its system account reports it. */
interface ServerHealth {
  /**
   * In the server's own words; undefined when it is healthy. After a write error, as on a full disk, a stream accepts
   * nothing and does not answer until the server restarts.
   */
  readonly fault: string | undefined;
  /** Its streams, as its monitoring port would list them (`/jsz`). */
  readonly jsz: unknown;
}

interface Pinged<Data> {
  readonly data?: Data;
}

/** @throws Error when the server does not answer */
export async function serverHealth(port: number, user: string, password: string): Promise<ServerHealth> {
  const connection = await connect({
    servers: `nats://127.0.0.1:${port}`,
    user,
    pass: password,
    reconnect: false,
    timeout: timeoutMs,
  });
  const ping = async <Data>(what: string, options?: object): Promise<Data | undefined> => {
    const payload = options === undefined ? "" : JSON.stringify(options);
    const answer = await connection.request(`$SYS.REQ.SERVER.PING.${what}`, payload, { timeout: timeoutMs });
    return answer.json<Pinged<Data>>().data;
  };
  try {
    const health = await ping<{ readonly status?: string; readonly error?: string }>("HEALTHZ");
    const jsz = await ping("JSZ", { accounts: true, streams: true, config: true });
    return { fault: health?.status === "ok" ? undefined : (health?.error ?? "unknown"), jsz };
  } finally {
    await connection.close();
  }
}
