import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { pino } from "pino";
import { startMonitor } from "../../../../runtime/nats/monitor/monitor.ts";
import { freePort } from "../../../support/free-port.ts";
import { type NatsServerHandle, startNatsServer } from "../../../support/nats-server.ts";
import { temporaryFolder } from "../../../support/temp-folder.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { mountSecret } from "../../../support/tls/mounted-secret.ts";
import { waitFor } from "../../../support/wait.ts";
import { secretOf } from "./monitored-server.ts";

const timeoutMs = 30_000;
const sizes = [0, 1, 2];

interface Place {
  readonly routes: readonly number[];
  readonly monitorPort: number;
  readonly folder: string;
}

/** The cluster block of the chart: servers prove themselves to each other with names of the routes. */
function clusterConfig(index: number, { routes, monitorPort, folder }: Place): string {
  const path = (name: string): string => JSON.stringify(join(folder, "tls", name));
  const tls = `cert_file: ${path("tls.crt")}, key_file: ${path("tls.key")}, ca_file: ${path("ca.crt")}`;
  return [
    `server_name: n${index}`,
    `http: "127.0.0.1:${monitorPort}"`,
    `pid_file: ${JSON.stringify(join(folder, `${index}.pid`))}`,
    `tls { ${tls} }`,
    `cluster { name: C, listen: "127.0.0.1:${routes[index]}"`,
    `  tls { ${tls}, verify_cert_and_check_known_urls: true }`,
    `  routes: [${routes.map((port) => `"nats://localhost:${port}"`).join(", ")}] }`,
  ].join("\n");
}

test("servers of a cluster load a renewed certificate for their routes, and a restarted one joins again", async () => {
  const temporary = await temporaryFolder("routes");
  const folder = temporary.path;
  onTestFinished(() => temporary.remove());
  const authority = createCertificateAuthority("authority");
  const secret = await mountSecret(join(folder, "tls"), secretOf(authority));
  const [routes, monitors] = [await freePorts(), await freePorts()];
  const servers: NatsServerHandle[] = await Promise.all(
    sizes.map((index) =>
      startNatsServer({ config: clusterConfig(index, { routes, monitorPort: monitors[index] ?? 0, folder }) }),
    ),
  );
  onTestFinished(async () => void (await Promise.all(servers.map((server) => server.stop()))));
  const ports = await Promise.all(sizes.map((index) => monitorOf(index, monitors[index] ?? 0, folder)));
  const values = (series: string): Promise<readonly (string | undefined)[]> =>
    Promise.all(ports.map((port) => valueOf(port, series)));
  const knowEachOther = async (): Promise<boolean> =>
    (await values("heliograph_nats_cluster_leader_known")).every((value) => value === "1");
  await waitFor(knowEachOther, { timeoutMs, what: "a leader" });

  const end = 'heliograph_nats_certificate_not_after_seconds{listener="cluster"}';
  const [before] = await values(end);
  const { cert, key } = authority.issue({ commonName: "nats", names: ["localhost"], validMs: 3_600_000 });
  await secret.replace({ "ca.crt": authority.cert, "tls.crt": cert, "tls.key": key });
  const areLoaded = async (): Promise<boolean> => (await values(end)).every((value) => value !== before);
  await waitFor(areLoaded, { timeoutMs, what: "the new certificate of every route" });
  await servers[2]?.restart();
  await waitFor(knowEachOther, { timeoutMs, what: "the restarted server in the cluster" });
  expect(servers[2]?.log()).not.toContain("TLS route handshake error");
});

const freePorts = (): Promise<readonly number[]> => Promise.all(sizes.map(() => freePort()));

async function monitorOf(index: number, monitorPort: number, folder: string): Promise<number> {
  const monitor = await startMonitor(
    {
      monitor: `http://127.0.0.1:${monitorPort}`,
      tlsFolder: join(folder, "tls"),
      pidFile: join(folder, `${index}.pid`),
      dataFolder: folder,
      port: 0,
      host: "127.0.0.1",
      checkMs: 100,
    },
    pino({ enabled: false }),
  );
  onTestFinished(() => monitor.stop());
  return monitor.port;
}

async function valueOf(port: number, series: string): Promise<string | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return text
    .split("\n")
    .find((line) => line.startsWith(`${series} `))
    ?.slice(series.length + 1);
}
