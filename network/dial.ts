// Connections to hosts with several addresses. It knows no protocol above TCP.
import { connect, isIPv4, type Socket } from "node:net";

/** Where to connect, and for how long. */
export interface DialOptions {
  /** Addresses of one host, the preferred family first. */
  readonly addresses: readonly string[];
  readonly port: number;
  /** Time limit of all attempts together. */
  readonly timeoutMs: number;
  /** Idle time after which TCP probes the connection. @default 60000 */
  readonly keepAliveMs?: number;
}

/** No address accepted a connection in time. */
export class DialTimeout extends Error {
  override readonly name = "DialTimeout";
  readonly code = "ETIMEDOUT";
}

/** Time after which the next address is tried as well. Source: RFC 8305 §5, Connection Attempt Delay. */
const attemptDelayMs = 250;
/** Addresses of one host that are tried. */
const addressesMax = 16;
const keepAliveMsDefault = 60_000;

/**
 * Opens a TCP connection to the first address that accepts one. Attempts overlap: each next address is tried 250 ms
 * after the one before, or as soon as one fails, and no attempt ends before the time limit. Source: RFC 8305 §5.
 *
 * @throws DialTimeout at the time limit; the error of the first attempt when all failed
 */
export function dial(options: DialOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const waiting = interleaved(options.addresses).slice(0, addressesMax);
    const open = new Set<Socket>();
    let firstError: Error | undefined;
    let delay: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(timer);
      clearTimeout(delay);
      for (const socket of open) socket.destroy();
      open.clear();
    };
    const tryNext = (): void => {
      clearTimeout(delay);
      const address = waiting.shift();
      if (address !== undefined) {
        open.add(attempt(address));
        delay = setTimeout(tryNext, attemptDelayMs);
      } else if (open.size === 0) {
        end();
        reject(firstError ?? new Error("no address"));
      }
    };
    const attempt = (address: string): Socket => {
      const socket = openSocket(address, options);
      socket.once("connect", () => {
        open.delete(socket);
        end();
        resolve(socket);
      });
      // The listener stays, because an error of the connection before its user listens would end the process.
      return socket.on("error", (error) => {
        firstError ??= error;
        if (open.delete(socket)) tryNext();
      });
    };
    const timer = setTimeout(() => {
      end();
      reject(new DialTimeout(`no connection in ${options.timeoutMs} ms`));
    }, options.timeoutMs);
    tryNext();
  });
}

function openSocket(host: string, { port, keepAliveMs = keepAliveMsDefault }: DialOptions): Socket {
  return connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs });
}

/** The addresses with alternating families, the family of the first one first. Source: RFC 8305 §4. */
function interleaved(addresses: readonly string[]): string[] {
  const isFirstFamily = (address: string): boolean => isIPv4(address) === isIPv4(addresses[0] ?? "");
  const first = addresses.filter(isFirstFamily);
  const second = addresses.filter((address) => !isFirstFamily(address));
  return Array.from({ length: Math.max(first.length, second.length) }, (_, index) => [first[index], second[index]])
    .flat()
    .filter((address) => address !== undefined);
}
