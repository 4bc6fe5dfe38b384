import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Forward, ServicePort } from "./cluster.ts";

const startMsMax = 60_000;

/**
 * Makes a service reachable with `kubectl port-forward`, which leads to one of its pods and ends with it.
 *
 * @throws Error with what kubectl said when it ends before it forwards
 */
export async function portForward(kubectl: string, kubeconfig: string, to: ServicePort): Promise<Forward> {
  const target = ["--namespace", to.namespace, "port-forward", `service/${to.service}`, `:${to.port}`];
  const child = spawn(kubectl, ["--kubeconfig", kubeconfig, ...target], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
  const signal = AbortSignal.timeout(startMsMax);
  const ended = once(child, "exit", { signal }).then(() => {
    throw new Error(`kubectl port-forward to ${to.service} ended: ${said.trim()}`);
  });
  ended.catch(() => undefined);
  const lines = createInterface(child.stdout);
  const [first] = (await Promise.race([once(lines, "line", { signal }), ended])) as [string];
  const port = /127\.0\.0\.1:(\d+)/u.exec(first)?.[1];
  const close = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill();
    await gone;
  };
  if (port !== undefined) return { url: `http://127.0.0.1:${port}`, close };
  await close();
  throw new Error(`kubectl port-forward to ${to.service} named no port: ${first}`);
}
