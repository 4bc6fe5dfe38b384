import { createHash } from "node:crypto";
import { Agent, request, type Dispatcher } from "undici";
import type { KubernetesAccess, KubernetesCredentials } from "./api-access.ts";
import { faultOfResponse, faultOfBreak, KubernetesFault } from "./api-fault.ts";

/** Bounds of the requests to the API server. */
export interface RequestLimits {
  /** On one connection's TCP and TLS handshakes, in milliseconds. */
  readonly connectMs: number;
  /** On the wait for the head of an answer, in milliseconds. */
  readonly responseMs: number;
  /** Credentials older than this are read again before the next request, in milliseconds. */
  readonly credentialsAgeMs: number;
}

/** @default of {@link RequestLimits} */
const requestLimits: RequestLimits = { connectMs: 10_000, responseMs: 30_000, credentialsAgeMs: 10_000 };

interface RequestsOptions {
  readonly userAgent: string;
  /** @default {@link requestLimits} */
  readonly limits?: Partial<RequestLimits> | undefined;
  /** Told of every request: its HTTP status, or undefined when there was no answer. @default nobody */
  readonly onAnswer?: (status: number | undefined) => void;
}

interface OpenOptions {
  /** Bound on the wait for the next bytes of the body, in milliseconds. */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
}

/** Idle connections between two requests; a watch keeps its own open. */
const keepAliveMs = 30_000;
/** After so long without traffic a connection is probed by the kernel, once a second; ten probes later it is broken. */
const probeAfterMs = 15_000;
/** One per shard is held by its watch. */
const connectionsMax = 256;
const errorBytesMax = 64 * 1024;

interface Kept {
  readonly credentials: KubernetesCredentials;
  readonly fingerprint: string;
  readonly agent: Agent;
  readonly readAtMs: number;
}

/**
 * GET requests to one API server over connections that are kept. A rotated token counts from the next request on;
 * another CA or client certificate makes new connections, while what is under way ends on the old ones. After a 401 or
 * a failed handshake the files are read again before the next request.
 */
export class KubernetesRequests {
  private readonly access: KubernetesAccess;
  private readonly options: RequestsOptions;
  private readonly limits: RequestLimits;
  private readonly retiring = new Set<Agent>();
  private kept: Kept | undefined;
  private reading: Promise<Kept> | undefined;
  private mustRead = true;

  constructor(access: KubernetesAccess, options: RequestsOptions) {
    this.access = access;
    this.options = options;
    this.limits = { ...requestLimits, ...options.limits };
  }

  /**
   * The body of a successful answer, still to come.
   * @param path with its query
   * @throws KubernetesFault
   */
  async open(path: string, { silenceMs, signal }: OpenOptions): Promise<AsyncIterable<Uint8Array>> {
    const what = `GET ${path}`;
    let answered: number | undefined;
    try {
      const { credentials, agent } = await this.current();
      const { statusCode, headers, body } = await request(credentials.server + path, {
        dispatcher: agent,
        headers: { accept: "application/json", "user-agent": this.options.userAgent, ...credentials.headers },
        headersTimeout: this.limits.responseMs,
        bodyTimeout: silenceMs,
        signal,
      });
      answered = statusCode;
      if (statusCode >= 200 && statusCode <= 299) return body as AsyncIterable<Uint8Array>;
      if (statusCode === 401) this.mustRead = true;
      const text = await readText(what, body, errorBytesMax);
      throw faultOfResponse(what, statusCode, text, String(headers["retry-after"] ?? ""));
    } catch (error) {
      throw this.faultOf(what, error);
    } finally {
      this.options.onAnswer?.(answered);
    }
  }

  /** The JSON of a successful answer of at most so many bytes. @throws KubernetesFault */
  async json(path: string, bytesMax: number, signal: AbortSignal): Promise<unknown> {
    const what = `GET ${path}`;
    const body = await this.open(path, { silenceMs: this.limits.responseMs, signal });
    try {
      return JSON.parse(await readText(what, body, bytesMax));
    } catch (error) {
      throw faultOfBreak(what, error);
    }
  }

  /** Ends every connection at once, watches included. */
  async close(): Promise<void> {
    const agents = [...this.retiring, ...(this.kept === undefined ? [] : [this.kept.agent])];
    this.kept = undefined;
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  private faultOf(what: string, error: unknown): KubernetesFault {
    const fault = faultOfBreak(what, error);
    // A changed CA shows itself as a handshake that fails.
    if (fault.kind === "unreachable") this.mustRead = true;
    return fault;
  }

  private async current(): Promise<Kept> {
    const { kept } = this;
    const isYoung = kept !== undefined && performance.now() - kept.readAtMs < this.limits.credentialsAgeMs;
    if (isYoung && !this.mustRead) return kept;
    this.reading ??= this.read().finally(() => {
      this.reading = undefined;
    });
    return await this.reading;
  }

  private async read(): Promise<Kept> {
    const credentials = await this.access.read();
    this.mustRead = false;
    const { kept } = this;
    const fingerprint = fingerprintOf(credentials);
    const agent = kept?.fingerprint === fingerprint ? kept.agent : this.connect(credentials);
    if (kept !== undefined && kept.agent !== agent) this.retire(kept.agent);
    this.kept = { credentials, fingerprint, agent, readAtMs: performance.now() };
    return this.kept;
  }

  /** HTTP/1.1, so that a connection that hangs takes no more than one watch with it. */
  private connect({ tls }: KubernetesCredentials): Agent {
    return new Agent({
      allowH2: false,
      connections: connectionsMax,
      keepAliveTimeout: keepAliveMs,
      connect: { ...tls, timeout: this.limits.connectMs, keepAlive: true, keepAliveInitialDelay: probeAfterMs },
    });
  }

  private retire(agent: Agent): void {
    this.retiring.add(agent);
    const gone = (): void => {
      this.retiring.delete(agent);
    };
    agent.close().then(gone, gone);
  }
}

function fingerprintOf({ server, tls }: KubernetesCredentials): string {
  const hash = createHash("sha256").update(server);
  for (const [name, value] of Object.entries(tls))
    hash.update(`\0${name}\0`).update(Buffer.isBuffer(value) ? value : String(value));
  return hash.digest("hex");
}

async function readText(
  what: string,
  body: Dispatcher.ResponseData["body"] | AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    const part = chunk as Uint8Array;
    bytes += part.length;
    if (bytes > bytesMax) throw new KubernetesFault("refused", `${what}: the answer exceeds ${bytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts, bytes).toString("utf8");
}
