import { afterAll, beforeAll, expect, test } from "vitest";
import { runbooks } from "../chart/alerts/runbooks.ts";
import type { Forward } from "../cluster/cluster.ts";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { freePort } from "../support/free-port.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { run } from "../tools/run.ts";
import type { Installation } from "./installation.ts";
import { outputOf, type Shell, shellIn } from "./page-commands.ts";
import type { User } from "./user.ts";

/** The suite's installation, which is there once its tests run. */
interface Suite {
  readonly installation: Installation;
  readonly user: User;
  /** Name of the release's Service, and first part of every name. */
  readonly service: string;
}

const forwardLine = /port-forward \S+ \d+ &$/u;
const commandMsMax = 60_000;

/** Commands of the runbooks as they are typed: a line for itself, or a forward with the request that it serves. */
function typedCommands(): readonly string[] {
  const commands = runbooks().flatMap((page) =>
    page.commands.flatMap((line, index) => {
      if (forwardLine.test(page.commands[index - 1] ?? "")) return [];
      return [forwardLine.test(line) ? `${line}\n${page.commands[index + 1]}` : line];
    }),
  );
  return [...new Set(commands)];
}

/** Shows that the commands of the runbooks find what they look for. */
export function describeRunbooks(suite: () => Suite): void {
  let folder: TemporaryFolder;
  let api: Forward;
  let shell: Shell;

  /** A command for the suite's namespace. A forward gets a port that is free, time to begin, and an end. */
  const inSuite = async (command: string): Promise<string> => {
    const { namespace } = suite().user;
    const port = await freePort();
    return command
      .replaceAll("--namespace heliograph ", `--namespace ${namespace} `)
      .replaceAll(":serviceaccount:heliograph:", `:serviceaccount:${namespace}:`)
      .replace(/ (\d+) &$/mu, ` ${port}:$1 >&2 &\ntrap 'kill $!; wait' EXIT`)
      .replace(/localhost:\d+/u, `localhost:${port}`)
      .replace(/^curl /mu, "curl --silent --show-error --fail --retry 40 --retry-delay 1 --retry-connrefused ");
  };

  describeOnCluster("the runbooks", () => {
    beforeAll(async () => {
      const { installation, user, service } = suite();
      folder = await temporaryFolder("runbooks");
      api = await installation.cluster.forward({ namespace: user.namespace, service, port: 80 });
      const { cwd, env } = await shellIn(folder.path, installation.cluster.kubeconfig);
      const token = (await user.kubectl(["create", "token", "caller", "--audience=heliograph"])).trim();
      shell = { cwd, env: { ...env, API: api.url, TOKEN: token } };
    });

    afterAll(async () => {
      await api?.close();
      await folder?.remove();
    });

    test.each(typedCommands())("hold a command that finds something: %s", async (command) => {
      const args = ["-euo", "pipefail", "-c", await inSuite(command)];
      const { code, stdout, stderr } = await run("bash", args, { ...shell, timeoutMs: commandMsMax });
      expect({ code, isEmpty: stdout.trim() === "", stderr: code === 0 ? "" : stderr }).toEqual({
        code: 0,
        isEmpty: false,
        stderr: "",
      });
    });

    test("run beside a debug bundle of a pod, which has its NATS", async () => {
      const { user, service } = suite();
      const exec = `kubectl --namespace ${user.namespace} exec deployment/${service}-runtime -- node /app/cli/heliograph.js`;
      const files = await outputOf(`${exec} debug bundle --output - | tar --list --gzip`, shell);
      expect(files.trim().split("\n")).toEqual(expect.arrayContaining(["manifest.json", "nats.json"]));
    });
  });
}
