import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { serverVersionMin } from "../../runtime/nats/connection/server-limits.ts";
import { kubernetesVersions } from "../chart/schemas.ts";
import { moduleVersion } from "../tools/go-build.ts";
import { tools } from "../tools/tool-table.ts";
import { keptFiles, textOf } from "./named-files.ts";

const [, section = ""] = textOf("docs/reference/versions.md").split("\n## Support matrix\n");
const rows = section
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .slice(2)
  .map((line) => {
    const [what = "", version = "", state = "", by = ""] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    return { what, version, state, by };
  });

/** First words of the versions of a program whose state starts so. */
const versionsOf = (program: string, start: string): readonly string[] =>
  rows
    .filter(({ what, state }) => what === program && state.startsWith(start))
    .map(({ version }) => version.split(",")[0] ?? "");

/** Version of the module that a tool is built from, without its `v`. */
function pinned(tool: keyof typeof tools): string {
  const { folder, versionModule } = tools[tool].source;
  return (moduleVersion(textOf(`test/tools/${folder}/go.mod`), versionModule) ?? "").slice(1);
}

const minorOf = (version: string): string => version.split(".").slice(0, 2).join(".");

describe("the support matrix of docs/reference/versions.md", () => {
  test("says in each row tested, rendered only or not tested", () => {
    expect(rows.length).toBeGreaterThan(8);
    expect(rows.filter(({ state }) => !/^(?:tested|rendered only|not tested)\b/u.test(state))).toEqual([]);
  });

  test.each(rows.filter(({ state }) => !state.startsWith("not tested")))(
    "names tests that exist for $what $version",
    ({ by }) => {
      const names = [...by.matchAll(/`([^`]+)`/gu)].map(([, name = ""]) => name);
      const exists = (name: string): boolean =>
        keptFiles.some((file) => file === name || (name.startsWith("*") && file.endsWith(name.slice(1))));
      expect(names.filter((name) => !exists(name))).toEqual([]);
      expect(names.length > 0 || by === "every suite").toBe(true);
    },
  );

  test("has every supported version of Kubernetes, tested or rendered as the suites do it", () => {
    const run = pinned("kube-apiserver");
    const [oldest, ...others] = kubernetesVersions;
    expect(versionsOf("Kubernetes", "tested")).toEqual([run, minorOf(oldest)]);
    expect(versionsOf("Kubernetes", "rendered only").toSorted()).toEqual(
      others
        .map(minorOf)
        .filter((minor) => minor !== minorOf(run))
        .toSorted(),
    );
    const { kubeVersion } = parse(textOf("charts/heliograph/Chart.yaml")) as { readonly kubeVersion: string };
    expect(kubeVersion).toBe(`>=${minorOf(oldest)}.0-0`);
    expect(kubernetesVersions.at(-1)).toBe(run);
  });

  test("has the versions that the suites pin", () => {
    const [, minor = "0", patch = "0"] = pinned("prometheus").split(".");
    const { devDependencies } = JSON.parse(textOf("package.json")) as {
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    expect(versionsOf("Helm", "tested")).toEqual([pinned("helm"), pinned("helm4")]);
    expect(versionsOf("NATS", "tested")).toEqual([pinned("nats-server")]);
    expect(versionsOf("Prometheus", "tested")).toEqual([
      `${Math.floor(Number(minor) / 100)}.${Number(minor) % 100}.${patch}`,
    ]);
    expect(versionsOf("VictoriaMetrics", "tested")).toEqual([pinned("victoria-metrics")]);
    expect(versionsOf("Thanos query frontend", "tested")).toEqual([pinned("thanos")]);
    expect(versionsOf("Node", "tested")).toEqual([devDependencies["node"]]);
  });

  test("has the oldest NATS that a runtime accepts, and the one that the chart runs", () => {
    expect(versionsOf("NATS", "not tested")).toEqual([serverVersionMin]);
    const values = parse(textOf("charts/heliograph/values.yaml")) as {
      readonly nats: { readonly image: { readonly tag: string } };
    };
    expect(values.nats.image.tag.split("-")[0]).toBe(pinned("nats-server"));
  });
});
