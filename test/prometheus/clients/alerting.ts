import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import { leaveCutOff } from "../../support/loopback.ts";
import { startServerProcess, type ServerProcess } from "../../support/server-process.ts";
import type { Target } from "./client.ts";

const responseMsMax = 5_000;

/** A program and its environment. */
interface Program {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

/** One alert as an Alertmanager is told of it. */
export interface NotifiedAlert {
  readonly labels: Readonly<Record<string, string>>;
  /** It has ended by then. */
  readonly endsAt: string;
}

/** The part of Alertmanager that takes alerts. Debian's package does not start from a folder of its own. */
export interface AlertReceiver {
  readonly url: string;
  readonly has: (status: "firing" | "resolved", labels: NotifiedAlert["labels"]) => boolean;
  stop(): Promise<void>;
}

interface ReceivedAlert extends NotifiedAlert {
  readonly status: "firing" | "resolved";
}

export async function startAlertReceiver(): Promise<AlertReceiver> {
  const alerts: ReceivedAlert[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      for (const alert of body as readonly NotifiedAlert[])
        alerts.push({ ...alert, status: Date.parse(alert.endsAt) <= Date.now() ? "resolved" : "firing" });
      response.end();
    }, leaveCutOff);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    has: (status, labels) =>
      alerts.some(
        (one) => one.status === status && Object.entries(labels).every(([label, value]) => one.labels[label] === value),
      ),
    stop: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** How a test runs vmalert. */
export interface VmalertOptions {
  readonly program: Program;
  readonly target: Target;
  /** The address of an Alertmanager. */
  readonly notifier: string;
  /** The rules: the name of each alert and its expression. */
  readonly rules: Readonly<Record<string, string>>;
  readonly folder: string;
  /** The value of the label `evaluator` of its alerts. */
  readonly evaluator: string;
  readonly flags: readonly string[];
}

/** A vmalert that evaluates each second. */
export async function startVmalert(options: VmalertOptions): Promise<ServerProcess> {
  const { program, target, notifier, rules, folder, evaluator, flags } = options;
  const [token, file] = [join(folder, `${evaluator}-token`), join(folder, `${evaluator}-rules.yml`)];
  const written = Object.entries(rules).map(([alert, expr]) => ({ alert, expr }));
  await writeFile(token, target.token);
  await writeFile(file, JSON.stringify({ groups: [{ name: "tests", interval: "1s", rules: written }] }));
  const address = `127.0.0.1:${await freePort()}`;
  const isReady = async (): Promise<boolean> =>
    (await fetch(`http://${address}/health`, { signal: AbortSignal.timeout(responseMsMax) })).ok;
  const args = [
    `-rule=${file}`,
    `-datasource.url=${target.url}`,
    `-datasource.bearerTokenFile=${token}`,
    `-notifier.url=${notifier}`,
    `-external.label=evaluator=${evaluator}`,
    `-httpListenAddr=${address}`,
    ...flags,
  ];
  return startServerProcess({ name: `vmalert ${evaluator}`, ...program, args, ready: isReady });
}
