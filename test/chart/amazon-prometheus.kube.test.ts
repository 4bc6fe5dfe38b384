import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";
import { chartFolder } from "./values-schema.ts";

/** The values of docs/how-to/amazon-prometheus.md, rendered by the real helm. */

const page = join(import.meta.dirname, "..", "..", "docs", "how-to", "amazon-prometheus.md");
const renderMsMax = 60_000;

interface Container {
  readonly name: string;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: object };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: {
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string;
        readonly securityContext: object;
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string; readonly projected?: object }[];
      };
    };
  };
}

interface Values {
  readonly settings: { readonly metrics: { readonly webIdentity: { readonly tokenFile: string } } };
  readonly runtime: { readonly serviceAccountAnnotations?: Readonly<Record<string, string>> };
}

let folder: TemporaryFolder;
let text = "";
/** Those with a token of the chart, then those with a token of the webhook of EKS. */
let blocks: readonly string[] = [];
beforeAll(async () => {
  folder = await temporaryFolder("amazon-prometheus");
  text = await readFile(page, "utf8");
  blocks = [...text.matchAll(/^( *)```yaml\n(.*?)^\1```$/gmsu)]
    .map(([, indent = "", block = ""]) => block.replaceAll(new RegExp(`^${indent}`, "gmu"), ""))
    .filter((block) => block.includes("tokenFile:"));
});
afterAll(() => folder?.remove());

async function rendered(block: string): Promise<readonly Manifest[]> {
  const file = join(folder.path, "values.yaml");
  await writeFile(file, block);
  const args = ["template", "heliograph", chartFolder, "--namespace", "heliograph", "--values", file];
  const { code, stdout, stderr } = await run(await resolveTool("helm"), args, { timeoutMs: renderMsMax });
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
}

function runtimeOf(manifests: readonly Manifest[]) {
  const named = (kind: string) =>
    manifests.find((own) => own.kind === kind && own.metadata.name === "heliograph-runtime");
  const pod = named("Deployment")?.spec?.template.spec;
  const settings = manifests.flatMap(({ kind, data }) => (kind === "ConfigMap" ? Object.values(data ?? {}) : []));
  return { pod, account: named("ServiceAccount"), settings: settings.filter((one) => one.includes("webIdentity")) };
}

describe("the values of the page on Amazon Prometheus", () => {
  test("give the runtime a projected token that its user can read, and the setting that names the file", async () => {
    const [block = ""] = blocks;
    const { settings: own } = parse(block) as Values;
    const { pod, account, settings } = runtimeOf(await rendered(block));
    const { tokenFile } = own.metrics.webIdentity;
    expect(settings.map((one) => (parse(one) as Values["settings"]).metrics.webIdentity)).toEqual([{ tokenFile }]);
    expect(pod?.volumes).toContainEqual({
      name: "aws-token",
      projected: {
        sources: [{ serviceAccountToken: { audience: "sts.amazonaws.com", expirationSeconds: 3_600, path: "token" } }],
      },
    });
    const mounts = pod?.containers.flatMap(({ name, volumeMounts }) =>
      volumeMounts.flatMap((mount) => (mount.name === "aws-token" ? [[name, `${mount.mountPath}/token`]] : [])),
    );
    expect(mounts).toEqual([["runtime", tokenFile]]);
    // Otherwise only root may read it: fluxcd/source-controller#284, aws/amazon-eks-pod-identity-webhook#8.
    expect(pod?.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65_532, fsGroup: 65_532 });
    expect(text).toContain(`"system:serviceaccount:heliograph:${account?.metadata.name ?? ""}"`);
    expect(pod?.serviceAccountName).toBe(account?.metadata.name);
  });

  test("annotate the service account for the webhook of EKS, and name the file that it mounts", async () => {
    const [, block = ""] = blocks;
    const { account, settings } = runtimeOf(await rendered(block));
    const annotations = (parse(block) as Values).runtime.serviceAccountAnnotations;
    expect(Object.keys(annotations ?? {})).toEqual(["eks.amazonaws.com/role-arn"]);
    expect(account?.metadata.annotations).toMatchObject(annotations ?? {});
    expect(settings.map((one) => (parse(one) as Values["settings"]).metrics.webIdentity)).toEqual([
      { tokenFile: "/var/run/secrets/eks.amazonaws.com/serviceaccount/token" },
    ]);
  });
});
