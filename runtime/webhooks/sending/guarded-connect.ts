import { isIP, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { dial, DialTimeout } from "../../../network/dial.ts";
import { BoundedMap } from "../../../limits/bounded-map.ts";
import { addressFault, type AddressGuard } from "./address-guard.ts";
import type { FailureReason } from "../settlement/outcome.ts";
import { codeOf, type Resolver } from "./dns.ts";

/** Certificates and key of an endpoint, in PEM. Different identities never share connections. */
export interface TlsIdentity {
  /** Certificates to trust instead of the roots of the system. */
  readonly ca?: string;
  /** Client certificate chain. */
  readonly cert?: string;
  /** Private key of {@link cert}. */
  readonly key?: string;
}

/** Measurements of a new connection, for the attempt that needed it. */
export interface ConnectionTrace {
  isConnecting: boolean;
  dnsMs?: number;
  connectMs?: number;
  tlsMs?: number;
}

/** Where to connect: parts of a URL. */
type Target = Pick<URL, "hostname" | "port" | "protocol">;

/** Opens a connection for one attempt and fills its trace. @throws ConnectFault */
export type Connector = (target: Target, trace: ConnectionTrace) => Promise<Socket>;

interface ConnectorOptions {
  /** Undefined allows every address. */
  readonly guard: AddressGuard | undefined;
  readonly tls: TlsIdentity;
  readonly resolve: Resolver;
  /** Time limit of look-up, TCP and TLS together. */
  readonly timeoutMs: number;
}

/** Why a connection could not be opened. */
export class ConnectFault extends Error {
  override readonly name = "ConnectFault";
  readonly reason: FailureReason;

  constructor(reason: FailureReason, detail: string, cause?: unknown) {
    super(detail, { cause });
    this.reason = reason;
  }
}

/** Newest TLS sessions by server. */
type Sessions = BoundedMap<string, TlsSession>;

interface TlsSession {
  readonly bytes: Buffer;
  /** Expiry of the server's certificate in Unix milliseconds. A resumed session checks no certificate. */
  readonly endsAtMs: number;
}

/** Servers whose newest TLS session is cached. */
const sessionsMax = 256;
/**
 * In TLS 1.3, the server checks the client's certificate after the handshake has ended for the client. A session ticket
 * shows that the server accepted it. Without a ticket, a connection that is still open after this time is used.
 */
const acceptanceMs = 100;
/** Alerts about the client certificate, as OpenSSL names them. Source: RFC 8446 §6.2. */
export const certificateAlert = /^ERR_SSL_.*ALERT_(?:.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/u;

/**
 * Connects to allowed addresses only. The host is looked up once per connection, and every address is checked. The
 * connection then uses only the checked addresses, so that DNS rebinding has no effect. A literal address is checked in
 * the same way.
 */
export function guardedConnector(options: ConnectorOptions): Connector {
  const sessions = new BoundedMap<string, TlsSession>(sessionsMax);
  return async ({ hostname, port, protocol }, trace) => {
    trace.isConnecting = true;
    const target = { hostname: hostname.replace(/^\[|\]$/gu, ""), port, protocol };
    try {
      return await open(options, sessions, target, trace);
    } catch (error) {
      // Any other error comes from a certificate or key that does not parse.
      throw asFault("tls", target.hostname, error);
    } finally {
      trace.isConnecting = false;
    }
  };
}

async function open(
  options: ConnectorOptions,
  sessions: Sessions,
  target: Target,
  trace: ConnectionTrace,
): Promise<Socket> {
  const endsAtMs = performance.now() + options.timeoutMs;
  const restMs = (): number => Math.max(1, endsAtMs - performance.now());
  const addresses = await allowedAddresses(options, target.hostname, trace);
  try {
    const socket = await openTcp(target, addresses, restMs(), trace);
    return target.protocol === "https:"
      ? await openTls(options.tls, sessions, target, socket, restMs(), trace)
      : socket;
  } catch (error) {
    // The host may have moved.
    options.resolve.forget?.(target.hostname);
    throw error;
  }
}

async function allowedAddresses(
  { guard, resolve, timeoutMs }: ConnectorOptions,
  host: string,
  trace: ConnectionTrace,
): Promise<readonly string[]> {
  const isLiteral = isIP(host) !== 0;
  const startedAtMs = performance.now();
  const addresses = isLiteral ? [host] : await lookedUp(resolve, host, timeoutMs);
  if (!isLiteral) trace.dnsMs = performance.now() - startedAtMs;
  const fault = addresses
    .map((address) => (guard === undefined ? undefined : addressFault(guard, address)))
    .find((found) => found !== undefined);
  if (fault !== undefined) throw new ConnectFault("guard", isLiteral ? fault : `${host}: ${fault}`);
  return addresses;
}

async function lookedUp(resolve: Resolver, host: string, timeoutMs: number): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectFault("dns", `${host}: no response within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    const addresses = await Promise.race([resolve(host), late]);
    if (addresses.length === 0) throw new ConnectFault("dns", `${host}: no address`);
    return addresses;
  } catch (error) {
    throw asFault("dns", host, error);
  } finally {
    clearTimeout(timer);
  }
}

async function openTcp(
  { hostname, port, protocol }: Target,
  addresses: readonly string[],
  timeoutMs: number,
  trace: ConnectionTrace,
): Promise<Socket> {
  const startedAtMs = performance.now();
  try {
    return await dial({ addresses, port: portOf(port, protocol), timeoutMs });
  } catch (error) {
    throw error instanceof DialTimeout ? lateFault(hostname, "connect") : asFault("connect", hostname, error);
  } finally {
    trace.connectMs = performance.now() - startedAtMs;
  }
}

function portOf(port: string, protocol: string): number {
  return Number(port || (protocol === "https:" ? "443" : "80"));
}

async function openTls(
  identity: TlsIdentity,
  sessions: Sessions,
  { hostname, port, protocol }: Target,
  tcp: Socket,
  timeoutMs: number,
  trace: ConnectionTrace,
): Promise<Socket> {
  const startedAtMs = performance.now();
  const name = `${hostname}:${portOf(port, protocol)}`;
  const session = sessions.get(name);
  const socket = connectTls({
    socket: tcp,
    ...identity,
    ...(session === undefined || session.endsAtMs <= Date.now() ? {} : { session: session.bytes }),
    // A name in the handshake has no trailing dot and is never an address. Source: RFC 6066 §3.
    servername: isIP(hostname) === 0 ? hostname.replace(/\.$/u, "") : "",
    host: hostname,
    ALPNProtocols: ["http/1.1"],
  }).on("session", (bytes) => sessions.set(name, { bytes, endsAtMs: certificateEndMs(socket) }));
  // The ticket may arrive with the end of the handshake, so the listener is added before.
  const ticket = new Promise<void>((resolve) => socket.once("session", () => resolve()));
  await established(socket, hostname, timeoutMs);
  trace.tlsMs = performance.now() - startedAtMs;
  if (identity.cert !== undefined && socket.getProtocol() === "TLSv1.3") await accepted(socket, hostname, ticket);
  return socket;
}

function certificateEndMs(socket: TLSSocket): number {
  return Date.parse(socket.getPeerX509Certificate()?.validTo ?? "") || 0;
}

/** Resolves when the handshake has ended. */
async function established(socket: TLSSocket, host: string, timeoutMs: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(lateFault(host, "tls")), timeoutMs);
    socket.once("secureConnect", () => {
      clearTimeout(timer);
      resolve();
    });
    // Without this listener, an error before the HTTP client listens would end the process.
    socket.on("error", (error) => {
      clearTimeout(timer);
      // The HTTP client would report the end of the connection that follows an alert, not the alert.
      socket.destroy();
      reject(asFault("tls", host, error));
    });
  });
}

function lateFault(host: string, phase: "connect" | "tls"): ConnectFault {
  return new ConnectFault("connect_timeout", `${host}: no ${phase} in time`);
}

/** Resolves when the server has accepted the client certificate, or has not rejected it in time. */
async function accepted(socket: TLSSocket, host: string, ticket: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve, reject) => {
    timer = setTimeout(resolve, acceptanceMs);
    void ticket.then(resolve);
    socket.once("error", (error) => reject(asFault("tls", host, error)));
    socket.once("close", () => {
      reject(new ConnectFault("client_certificate", `${host}: ended the connection when it had seen the certificate`));
    });
  }).finally(() => clearTimeout(timer));
  // The event comes in the middle of a read. Data written there would wait for the next read.
  await setImmediate();
}

function asFault(reason: FailureReason, host: string, error: unknown): ConnectFault {
  if (error instanceof ConnectFault) return error;
  const code = codeOf(error) ?? String(error);
  return new ConnectFault(certificateAlert.test(code) ? "client_certificate" : reason, `${host}: ${code}`, error);
}
