import { join } from "node:path";
import { pino } from "pino";
import { startMonitor } from "../../../../runtime/nats/monitor/monitor.ts";
import { freePort } from "../../../support/free-port.ts";
import { type NatsServerHandle, startNatsServer } from "../../../support/nats-server.ts";
import { temporaryFolder } from "../../../support/temp-folder.ts";
import { createCertificateAuthority, type CertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { mountSecret, type MountedSecret } from "../../../support/tls/mounted-secret.ts";

/** A real nats-server with TLS and the monitor beside it, in the places that the chart gives them. */
export interface MonitoredServer {
  readonly server: NatsServerHandle;
  /** Its configuration apart from JetStream. */
  readonly config: string;
  readonly secret: MountedSecret;
  readonly authority: CertificateAuthority;
  /** Port of the monitor. */
  readonly port: number;
  /** Lines of the monitor's log. */
  readonly log: readonly string[];
  stop(): Promise<void>;
}

/** Period at which the monitor compares files. */
const checkMs = 100;

/** Files of a Secret with a certificate for this machine. */
export function secretOf(authority: CertificateAuthority): Readonly<Record<string, string>> {
  const { cert, key } = authority.issue({ commonName: "nats", names: ["localhost", "127.0.0.1"] });
  return { "ca.crt": authority.cert, "tls.crt": cert, "tls.key": key };
}

export async function startMonitoredServer(): Promise<MonitoredServer> {
  const folder = await temporaryFolder("nats-monitor");
  const authority = createCertificateAuthority("first");
  const tlsFolder = join(folder.path, "tls");
  const secret = await mountSecret(tlsFolder, secretOf(authority));
  const pidFile = join(folder.path, "nats.pid");
  const monitorPort = await freePort();
  const path = (name: string): string => JSON.stringify(join(tlsFolder, name));
  const config = [
    `http: "127.0.0.1:${monitorPort}"`,
    `pid_file: ${JSON.stringify(pidFile)}`,
    `tls { cert_file: ${path("tls.crt")}, key_file: ${path("tls.key")}, ca_file: ${path("ca.crt")} }`,
  ].join("\n");
  const server = await startNatsServer({ config });
  const log: string[] = [];
  const monitor = await startMonitor(
    {
      monitor: `http://127.0.0.1:${monitorPort}`,
      tlsFolder,
      pidFile,
      dataFolder: server.storeDir,
      port: 0,
      host: "127.0.0.1",
      checkMs,
    },
    pino({}, { write: (line: string) => void log.push(line) }),
  );
  return {
    server,
    config,
    secret,
    authority,
    port: monitor.port,
    log,
    stop: async () => {
      await monitor.stop();
      await server.stop();
      await folder.remove();
    },
  };
}
