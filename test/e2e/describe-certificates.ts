import { randomBytes } from "node:crypto";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { createCertificateAuthority } from "../support/tls/certificate-authority.ts";
import { applyDefinitions, chart, type Installation, setJson, suiteValues } from "./installation.ts";
import { fateOf, startLoad } from "./load.ts";
import { neighbours, resources } from "./manifests.ts";
import { installSteps, typeStep } from "./page-commands.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { waitFor } from "../support/wait.ts";
import { resolveTool } from "../tools/resolve.ts";
import { rotate, rotatedSecret, servedMsMax, servedSerial, untilServed } from "./nats-rotation.ts";
import { type User, userOf } from "./user.ts";

const namespace = "certificates";
const release = "heliograph";
const service = "heliograph";
const key = { id: "first", secret: randomBytes(32).toString("hex") };
const authority = createCertificateAuthority("authority");
const eventsPerSecond = 20;
const loadSeconds = 115;
/** The first certificate ends soon after the rotation. */
const [shortMs, longMs] = [5 * 60_000, 60 * 60_000];
const installMsMax = 5 * 60_000;
const testMsMax = servedMsMax + loadSeconds * 1_000 + 120_000;

/** Installs the chart with one server of NATS that serves the first certificate. */
async function installWithCertificate(installation: Installation): Promise<void> {
  const { helm, kubectl } = installation;
  await applyDefinitions(installation);
  await kubectl(["create", "namespace", namespace]);
  await kubectl(["label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted"]);
  const inNamespace = (args: readonly string[], stdin?: object): Promise<string> =>
    kubectl(["--namespace", namespace, ...args], stdin);
  await inNamespace(["create", "serviceaccount", "caller"]);
  await inNamespace(["apply", "--filename=-"], neighbours({ [key.id]: key.secret }));
  await rotate({ kubectl: inNamespace }, authority, { service, namespace, validMs: shortMs });
  const where = ["--namespace", namespace, "--wait", "--timeout=4m"];
  const values = [`nats.tls.existingSecret=${rotatedSecret}`, "runtime.replicas=1", "crds.install=false"];
  const own = ["--set", values.join(",")];
  await helm(["install", release, chart, ...where, ...setJson(suiteValues(namespace)), ...own]);
}

interface PasswordChange {
  /** Waits until the runtime has followed, and ends the old user. */
  readonly untilDone: () => Promise<void>;
}

/** Types the commands of the page about passwords. The last ones wait until the runtime has followed. */
async function typePasswordChange({ cluster }: Installation, bin: string): Promise<PasswordChange> {
  await symlink(await resolveTool("kubectl"), join(bin, "kubectl"));
  const shell = { cwd: bin, env: { KUBECONFIG: cluster.kubeconfig, HOME: bin, PATH: `${bin}:${process.env["PATH"]}` } };
  const [change, look, end] = await installSteps("Passwords of NATS", namespace);
  if (change === undefined || look === undefined || end === undefined) throw new Error("the page has other commands");
  await typeStep(change, shell);
  const untilDone = async (): Promise<void> => {
    const isDone = () => typeStep(look, shell).then(() => true);
    await waitFor(isDone, { timeoutMs: servedMsMax, pollMs: 1_000, what: "the new password" });
    await typeStep(end, shell);
  };
  return { untilDone };
}

const natsPod = (user: User, template: string): Promise<string> =>
  user.kubectl(["get", `pod/${service}-nats-0`, `--output=jsonpath=${template}`]);

/** What a program in another pod reads of a port of NATS; its error when it cannot. */
async function readFrom(user: User, url: string): Promise<string> {
  const script = `fetch(${JSON.stringify(url)}).then((r) => r.text()).then(console.log, (e) => console.log(e.cause?.code))`;
  return user.kubectl(["exec", "deployment/partner", "--", "node", "--eval", script]);
}

/** Shows that NATS serves a rotated certificate, in a namespace that goes with the tests. */
export function describeCertificates(suite: () => Installation): void {
  describeOnCluster("a NATS of the chart", () => {
    let user: User;
    let folder: TemporaryFolder;

    beforeAll(async () => {
      folder = await temporaryFolder("passwords");
    });

    afterAll(async () => {
      await folder?.remove();
      await user?.close();
      await suite().kubectl(["delete", "namespace", namespace, "--wait=false"]);
    });

    test(
      "becomes ready with the certificate of a Secret",
      async () => {
        await installWithCertificate(suite());
        user = await userOf(suite(), namespace, service);
        await user.kubectl(["apply", "--filename=-"], resources(namespace, key));
        expect(await user.programmed()).toBeLessThan(longMs);
      },
      installMsMax,
    );

    test("closes its monitoring port to other pods, and shows them metrics", async () => {
      const address = await natsPod(user, "{.status.podIP}");
      expect((await readFrom(user, `http://${address}:8222/varz`)).trim()).toBe("ECONNREFUSED");
      const metrics = await readFrom(user, `http://${address}:7777/metrics`);
      expect(metrics).toContain("\nheliograph_nats_up 1\n");
      const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, "mu").exec(metrics)?.[1]);
      const [used, limit] = [valueOf("heliograph_nats_memory_bytes"), valueOf("heliograph_nats_memory_limit_bytes")];
      console.log(`nats-server takes ${Math.round(used / 1024 / 1024)} MiB; GOMEMLIMIT is ${limit} bytes`);
      expect(limit).toBe(Math.floor((1024 ** 3 * 9) / 10));
    });

    test(
      "serves a rotated certificate and takes rotated passwords within two minutes, with events flowing and none lost",
      async () => {
        const load = await startLoad(user, service, {
          prefix: "rotation",
          eventsPerSecond,
          queriesPerSecond: 1,
          seconds: loadSeconds,
        });
        const first = await servedSerial(suite(), namespace, service);
        const next = await rotate(user, authority, { service, namespace, validMs: longMs });
        expect(next).not.toBe(first);
        const password = await typePasswordChange(suite(), folder.path);
        const tookMs = await untilServed(() => servedSerial(suite(), namespace, service), next);
        await password.untilDone();
        const { accepted, events, resent, failures } = await load.stop();
        const fate = await fateOf(user, "rotation", accepted);
        console.log(
          `new certificate served after ${Math.round(tookMs / 1_000)} s: ${JSON.stringify({ events, accepted, resent, failures, ...fate })}`,
        );
        expect(tookMs).toBeLessThan(servedMsMax);
        expect({ accepted, failures, ...fate }).toEqual({
          accepted: events,
          failures: {},
          arrived: events,
          doubled: 0,
        });
        const restarts = "{.status.containerStatuses[*].restartCount} {.status.initContainerStatuses[*].restartCount}";
        expect(await natsPod(user, restarts)).toBe("0 0 0");
      },
      testMsMax,
    );

    test("lets a runtime that starts with the new certificate connect", async () => {
      await user.kubectl(["rollout", "restart", `deployment/${service}-runtime`]);
      const status = ["rollout", "status", `deployment/${service}-runtime`, "--timeout=120s"];
      expect(await user.kubectl(status)).toContain("successfully rolled out");
    });
  });
}
