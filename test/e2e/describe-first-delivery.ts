import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeOnCluster } from "../cluster/describe-on-cluster.ts";
import { loadExampleImages } from "../image/cluster-images.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";
import type { Installation } from "./installation.ts";
import { type PageStep, pageSteps, typeStep } from "./page-commands.ts";
import { tailEvents } from "./tailed-events.ts";

const root = dirname(dirname(import.meta.dirname));
const page = await readFile(join(root, "docs", "tutorials", "first-delivery.md"), "utf8");
/** The section of the page that makes a cluster, which the suite has. */
const clusterSection = "A cluster on one machine";
const stepMsMax = 5 * 60_000;

const steps = pageSteps(page).filter(({ section }) => section !== clusterSection);
const isLast = ({ section }: PageStep): boolean => section === "Clean up";
const sendAnother = "kubectl heliograph --namespace shop send order.created --tenant lumen --id order-1003 --body '{}'";
const title = ({ section, commands }: PageStep): string => `${section}: ${commands.split("\n", 1)[0]}`;

/**
 * Types what docs/tutorials/first-delivery.md says, with kubectl, helm and the checkout's own programs. It installs a
 * release with its definitions and ends it, and goes before releases without definitions.
 */
export function describeFirstDelivery(suite: () => Installation): void {
  describeOnCluster("a first delivery and a first query, as the page says", () => {
    let folder: TemporaryFolder;
    let env: Readonly<Record<string, string>>;

    beforeAll(async () => {
      const { cluster } = suite();
      await loadExampleImages(cluster);
      folder = await temporaryFolder("first-delivery");
      const bin = join(folder.path, "bin");
      await mkdir(bin);
      for (const tool of ["kubectl", "helm"] as const) await symlink(await resolveTool(tool), join(bin, tool));
      const path = [bin, join(folder.path, ".local", "bin"), dirname(process.execPath), process.env["PATH"] ?? ""].join(
        ":",
      );
      env = { KUBECONFIG: cluster.kubeconfig, HOME: folder.path, PATH: path };
    });

    afterAll(async () => {
      await folder?.remove();
    });

    test("goes from Install to Clean up", () => {
      expect([steps[0]?.section, steps.at(-1)?.section]).toEqual(["Install", "Clean up"]);
    });

    const typed = (some: readonly PageStep[]) => some.map((step) => ({ name: title(step), step }));
    test.each(typed(steps.filter((step) => !isLast(step))))("types $name", { timeout: stepMsMax }, async ({ step }) => {
      await expect(typeStep(step, { cwd: root, env })).resolves.toBeUndefined();
    });

    test("follows events while every pod of the runtime is replaced", { timeout: stepMsMax }, async () => {
      const { kubectl } = suite();
      const tail = tailEvents({ cwd: root, env });
      try {
        await tail.printed("order-1002");
        const pods = ["--selector=app.kubernetes.io/component=runtime", "--grace-period=0", "--force"];
        await kubectl(["--namespace", "heliograph", "delete", "pods", ...pods]);
        const rollout = ["rollout", "status", "deployment/heliograph-runtime", "--timeout=60s"];
        await kubectl(["--namespace", "heliograph", ...rollout]);
        await typeStep({ section: "", commands: sendAnother, prints: [] }, { cwd: root, env });
        await expect(tail.printed("order-1003")).resolves.toBeUndefined();
      } finally {
        await tail.close();
      }
    });

    test.each(typed(steps.filter(isLast)))("types $name", { timeout: stepMsMax }, async ({ step }) => {
      await expect(typeStep(step, { cwd: root, env })).resolves.toBeUndefined();
    });
  });
}
