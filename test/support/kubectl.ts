import { spawn } from "node:child_process";

/** What came of one kubectl command. */
export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const kubectlMsMax = 60_000;

/** Runs kubectl with a kubeconfig to its end, for a minute at most; a failed command is a result, not an error. */
export function runKubectl(
  command: string,
  kubeconfig: string,
  args: readonly string[],
  stdin = "",
): Promise<KubectlResult> {
  const { promise, resolve, reject } = Promise.withResolvers<KubectlResult>();
  const child = spawn(command, ["--kubeconfig", kubeconfig, ...args], { timeout: kubectlMsMax });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  child.on("error", reject).on("close", (code) => resolve({ code: code ?? 1, stdout, stderr }));
  // A kubectl that ends without reading closes the pipe; what matters then is its exit code.
  child.stdin.on("error", () => undefined);
  child.stdin.end(stdin);
  return promise;
}
