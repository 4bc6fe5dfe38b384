import { afterAll, beforeAll, expect, test } from "vitest";
import { runbooks } from "../chart/alerts/runbooks.ts";
import type { Forward } from "../cluster/cluster.ts";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { freePort } from "../support/free-port.ts";
import { runProgram } from "../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { run } from "../tools/run.ts";
import type { Installation } from "./installation.ts";
import { list, partner, signingSecret } from "./manifests.ts";
import { outputOf, type Shell, shellIn } from "./page-commands.ts";
import type { User } from "./user.ts";

/** The suite's installation, which is there once its tests run. */
interface Suite {
  readonly installation: Installation;
  readonly user: User;
  /** Name of the release's Service, and first part of every name. */
  readonly service: string;
  /** A signing key that the recipient knows and no partner has. */
  readonly drillSecret: string;
}

const forwardLine = /port-forward \S+ \d+ &$/u;
const commandMsMax = 60_000;
const redriveMsMax = 2 * 60_000;

/** A partner for events that no other partner receives, and its signing key. */
function drilled({ user: { namespace }, drillSecret }: Suite, url: string): object {
  const id = "drill";
  const { spec, ...rest } = partner(namespace, [id]);
  const subscriptions = [{ name: "drills", types: ["drill.*"], tenants: ["lumen"] }];
  const endpoint = { url, timeoutSeconds: 5 };
  const one = { ...rest, metadata: { name: "drilled" }, spec: { ...spec, endpoint, subscriptions } };
  return list([signingSecret({ id, secret: drillSecret }), one]);
}

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
      await suite().user.kubectl(["delete", "--ignore-not-found", "metriccatalog/backlog"]);
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

    test(
      "redrive the dead letters of one reason once the endpoint is repaired",
      async () => {
        const { user } = suite();
        const { API: url = "", TOKEN: token = "" } = shell.env;
        const environment = { HELIOGRAPH_URL: url, HELIOGRAPH_TOKEN: token };
        const heliograph = (...args: readonly string[]) => runProgram(args, { environment });
        const pointAt = async (endpoint: string): Promise<void> => {
          await user.kubectl(["apply", "--filename=-"], drilled(suite(), endpoint));
          await user.programmed(["webhookpartner/drilled"]);
        };
        // The store has no such path and rejects the request.
        await pointAt(`http://store.${user.namespace}.svc.cluster.local:9090/no-such-path`);
        const sent = await heliograph(
          "send",
          "drill.started",
          "--tenant",
          "lumen",
          "--id",
          "drill-1",
          "-d",
          "{}",
          "--wait",
        );
        expect(sent).toMatchObject({ code: 1, stdout: expect.stringContaining("rejected") });
        const of = ["--partner", `${user.namespace}/drilled`];
        const { stdout } = await heliograph("dlq", "counts", ...of, "-o", "json");
        const { reason, count } = JSON.parse(stdout) as { readonly reason: string; readonly count: number };
        expect({ reason, count }).toEqual({ reason: expect.stringMatching(/^status_40\d$/u), count: 1 });
        await pointAt(`http://partner.${user.namespace}.svc.cluster.local:8080/webhooks/v1/drill`);
        expect(await heliograph("dlq", "redrive", ...of, "--reason", reason, "--yes", "--follow")).toMatchObject({
          code: 0,
          stdout: expect.stringContaining(" completed: 1 published, 1 delivered, 0 failed"),
        });
        expect((await user.received()).events["drill-1"]).toBe(1);
        await user.kubectl(["delete", "webhookpartner/drilled", "secret/signing-drill"]);
      },
      redriveMsMax,
    );

    test("run beside a debug bundle of a pod, which has its NATS", async () => {
      const { user, service } = suite();
      const exec = `kubectl --namespace ${user.namespace} exec deployment/${service}-runtime -- node /app/cli/heliograph.js`;
      const files = await outputOf(`${exec} debug bundle --output - | tar --list --gzip`, shell);
      expect(files.trim().split("\n")).toEqual(expect.arrayContaining(["manifest.json", "nats.json"]));
    });
  });
}
