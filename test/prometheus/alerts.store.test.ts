import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findPythonProgram } from "../support/python-program.ts";
import { remoteWrite } from "../support/remote-write.ts";
import type { ServerProcess } from "../support/server-process.ts";
import { waitFor } from "../support/wait.ts";
import { findDebianServer } from "../tools/debian-server.ts";
import { resolveTool } from "../tools/resolve.ts";
import { startAlertReceiver, startVmalert, type AlertReceiver } from "./clients/alerting.ts";
import { goClient } from "./clients/go-client.ts";
import { nodeClient } from "./clients/node-client.ts";
import { promtoolClient } from "./clients/promtool.ts";
import { pythonClient } from "./clients/python-client.ts";
import { settledAt, startTwoRegions, type TwoRegions } from "./installation.ts";

const oldVmalert = await findDebianServer("vmalert");
const evaluators = ["missing" in oldVmalert ? [] : ["old"], "new"].flat();
const python = await findPythonProgram("prometheus-api-client");
const waitMsMax = 90_000;

let two: TwoRegions;
beforeAll(async () => {
  two = await startTwoRegions();
});
afterAll(async () => two?.stop());

const rules = {
  AlarmLevel: 'max by (service) (max_over_time(alarm_level{tenant="lumen"}[10s])) > 5',
  /** Fires always, so that a rule that cannot be evaluated is seen. */
  LatencyBudget: 'histogram_fraction(0, 0.5, sum by (le) (rate(latency{tenant="lumen"}[5m]))) < 0.9',
};

/** A high value of now, in one region. */
async function raise(): Promise<void> {
  const samples = [{ ms: Date.now(), value: 9 }];
  await remoteWrite(two.stores.eu.url, [{ name: "alarm_level", labels: { tenant: "lumen", service: "api" }, samples }]);
}

describe("vmalert", () => {
  let receiver: AlertReceiver;
  let servers: readonly ServerProcess[] = [];

  beforeAll(async () => {
    const target = await two.target();
    receiver = await startAlertReceiver();
    const shared = { target, notifier: receiver.url, rules, folder: two.folder };
    const current = { command: await resolveTool("vmalert"), env: {} };
    servers = await Promise.all([
      // Without the flag it evaluates at half a minute before now.
      startVmalert({ ...shared, program: current, evaluator: "new", flags: ["-rule.evalDelay=0s"] }),
      ...("missing" in oldVmalert
        ? []
        : [startVmalert({ ...shared, program: oldVmalert, evaluator: "old", flags: [] })]),
    ]);
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await receiver?.stop();
  });

  const logs = (): string => servers.map((server) => server.log().slice(-2_000)).join("\n---\n");
  const hasAll = (status: "firing" | "resolved", alertname: string): boolean =>
    evaluators.every((evaluator) => receiver.has(status, { alertname, evaluator }));

  test("of 2022 and of today tells Alertmanager what fires, and what has ended when the data change", async () => {
    const fires = async (): Promise<boolean> => {
      await raise();
      return Object.keys(rules).every((alert) => hasAll("firing", alert));
    };
    await waitFor(fires, { timeoutMs: waitMsMax, pollMs: 500, what: "all alerts" }).catch((cause: unknown) => {
      throw new Error(logs(), { cause });
    });
    const hasEnded = (): boolean => hasAll("resolved", "AlarmLevel");
    await waitFor(hasEnded, { timeoutMs: waitMsMax, pollMs: 100, what: "the end of the alerts" });
    expect(receiver.has("firing", { alertname: "AlarmLevel", service: "api" })).toBe(true);
    expect(receiver.has("resolved", { alertname: "LatencyBudget" })).toBe(false);
  });
});

describe("with one region gone", () => {
  const expression = 'sum by (service) (avg_over_time(queue_lag{tenant="lumen"}[5m]))';
  beforeAll(async () => two.stores.latam.kill9());

  const shown: unknown = expect.stringContaining("latam");
  const names = ["promtool", "client_golang", "prometheus-query", "prometheus-api-client"] as const;
  test.each(names)("%s gets the values of the other region", async (name) => {
    if (name === "prometheus-api-client" && "missing" in python) return;
    const target = await two.target();
    const folder = join(two.folder, "partial");
    await mkdir(folder, { recursive: true });
    const make = {
      promtool: () => promtoolClient(target, folder),
      client_golang: () => goClient(target),
      "prometheus-query": () => nodeClient(target),
      "prometheus-api-client": () => pythonClient(target, "missing" in python ? "" : python.command),
    };
    const { series, warnings } = await (await make[name]()).instant(expression, settledAt - 300);
    expect(series.map(({ labels }) => labels)).toEqual([{ service: "api" }, { service: "web" }]);
    // The others drop warnings.
    expect(warnings).toEqual(name === "client_golang" ? [shown] : undefined);
  });

  test("a whole answer is refused with 503, and a partial one says so", async () => {
    const { url, token } = await two.target();
    const ask = async (more: string) => {
      const parameters = `query=${encodeURIComponent(expression)}&time=${settledAt - 600}${more}`;
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${url}/api/v1/query?${parameters}`, { headers });
      return { status: response.status, body: await response.json() };
    };
    expect(await ask("")).toMatchObject({ status: 200, body: { status: "success", isPartial: true } });
    for (const more of ["&partial_response=false", "&complete=required"])
      expect(await ask(more)).toMatchObject({ status: 503, body: { status: "error", errorType: "unavailable" } });
  });
});
