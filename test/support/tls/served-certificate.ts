import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createConnection } from "node:net";
import { connect } from "node:tls";

const timeoutMs = 20_000;

/** The certificate that a nats-server shows to a new client on this machine. NATS sends a line in the clear first. */
export async function certificateOfNats(port: number): Promise<X509Certificate> {
  const plain = createConnection(port, "127.0.0.1").on("error", () => undefined);
  try {
    await once(plain, "data", { signal: AbortSignal.timeout(timeoutMs) });
    // The certificate is looked at here, never trusted.
    const socket = connect({ socket: plain, rejectUnauthorized: false });
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(timeoutMs) });
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) throw new Error("the server showed no certificate");
    return certificate;
  } finally {
    plain.destroy();
  }
}

/** Serial number of the first certificate of a PEM text. */
export function serialOf(pem: string): string {
  return new X509Certificate(pem).serialNumber;
}
