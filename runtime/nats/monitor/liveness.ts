import { get } from "node:http";
import { readBoundedBody } from "../../../network/bounded-body.ts";

/** What one look at a nats-server and its volume found. */
export interface ServerState {
  /** False after the server disabled JetStream, for example because it could not write. */
  readonly isJetStreamOn: boolean;
  /** False while a stream or consumer does not work, or catches up with the other servers. */
  readonly isHealthy: boolean;
  /** False when files of streams are gone, which the server has open. */
  readonly hasFiles: boolean;
  /** Undefined when the volume cannot be read. */
  readonly volume: { readonly sizeBytes: number; readonly availableBytes: number } | undefined;
}

/** Share of the volume below which a start could not write either, so that a restart would only repeat. */
const fullShare = 0.05;

/** A response of the monitoring port of nats-server. */
interface MonitorResponse {
  readonly status: number;
  readonly body: string;
}

const timeoutMs = 4_000;
/** Holds the state of some thousand streams. */
const bodyBytesMax = 8 * 1024 * 1024;

/**
 * Whether the server should restart. A restart brings JetStream back and frees streams that reject writes, but not
 * while the volume is full. A restart without the files of streams loses what the server still has open. A server that
 * catches up gets `catchUpMs`.
 *
 * @param unhealthyMs time since the first look of this series that was not healthy
 */
export function needsRestart(
  { isJetStreamOn: isOn, isHealthy, hasFiles, volume }: ServerState,
  unhealthyMs: number,
  catchUpMs: number,
): boolean {
  if (volume !== undefined && volume.availableBytes < fullShare * volume.sizeBytes) return false;
  if (!isOn) return true;
  if (!hasFiles) return false;
  return !isHealthy && unhealthyMs >= catchUpMs;
}

/** Judges a server for the kubelet, look by look. */
interface Liveness {
  /** True unless the server should restart. @throws Error when it does not respond */
  look(): Promise<boolean>;
}

interface LivenessDeps {
  readonly read: (path: string) => ReturnType<typeof readMonitor>;
  readonly volume: () => Promise<ServerState["volume"]>;
  readonly hasFiles: () => boolean;
  readonly catchUpMs: number;
  /** Milliseconds of a monotonic clock. */
  readonly nowMs: () => number;
}

const okStatus = 200;

/** Whether JetStream runs in the server. @throws Error when it does not respond */
export async function readJetStreamOn(read: LivenessDeps["read"]): Promise<boolean> {
  return (await read("/healthz?js-enabled-only=true")).status === okStatus;
}

/** Creates the judge of a server that was healthy so far. */
export function createLiveness({ read, volume, hasFiles, catchUpMs, nowMs }: LivenessDeps): Liveness {
  let unhealthySinceMs: number | undefined;
  return {
    look: async () => {
      const [isOn, health, space] = await Promise.all([readJetStreamOn(read), read("/healthz"), volume()]);
      const isHealthy = health.status === okStatus;
      unhealthySinceMs = isHealthy ? undefined : (unhealthySinceMs ?? nowMs());
      const unhealthyMs = nowMs() - (unhealthySinceMs ?? nowMs());
      const state = { isJetStreamOn: isOn, isHealthy, hasFiles: hasFiles(), volume: space };
      return !needsRestart(state, unhealthyMs, catchUpMs);
    },
  };
}

/**
 * Reads a path of the monitoring port of nats-server.
 * @param base such as `http://127.0.0.1:8222`
 * @throws Error when the server does not respond in time, or with more bytes than the bound
 */
export function readMonitor(base: string, path: string): Promise<MonitorResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<MonitorResponse>();
  const request = get(`${base}${path}`, { agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
    readBoundedBody(response, bodyBytesMax, "nats-server").then((body) => {
      resolve({ status: response.statusCode ?? 0, body: body.toString() });
    }, reject);
  });
  request.on("error", reject);
  return promise;
}

/** Reads a document of the monitoring port. @throws Error for any status except 200 and for text that is not JSON */
export async function readDocument(base: string, path: string): Promise<unknown> {
  const { status, body } = await readMonitor(base, path);
  if (status !== 200) throw new Error(`nats-server responded to ${path} with status ${status}`);
  return JSON.parse(body) as unknown;
}
