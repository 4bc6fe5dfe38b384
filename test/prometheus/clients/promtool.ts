import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resolveTool } from "../../tools/resolve.ts";
import { run } from "../../tools/run.ts";
import { type PrometheusClient, readElements, type Target, type WrittenElement } from "./client.ts";

const runMsMax = 30_000;

/** Prometheus' own command. It prints no warnings. @param folder takes its HTTP configuration */
export async function promtoolClient({ url, token }: Target, folder: string): Promise<PrometheusClient> {
  const [tokenFile, config] = [join(folder, "token"), join(folder, "http.yml")];
  await writeFile(tokenFile, token);
  await writeFile(config, `authorization:\n  credentials_file: ${tokenFile}\n`);
  const command = await resolveTool("promtool");
  const promtool = async (format: string, kind: string, ...args: readonly string[]): Promise<string> => {
    const shared = ["query", `--format=${format}`, `--http.config.file=${config}`, kind];
    const { code, stdout, stderr } = await run(command, [...shared, ...args], { timeoutMs: runMsMax });
    if (code !== 0) throw new Error(stderr.trim());
    return stdout;
  };
  const elements = async (...args: readonly [string, ...(readonly string[])]) => ({
    series: readElements(JSON.parse(await promtool("json", ...args)) as readonly WrittenElement[]),
  });
  return {
    name: "promtool",
    instant: (expression, seconds) => elements("instant", `--time=${seconds}`, url, expression),
    range: (expression, { start, end, step }) =>
      elements("range", `--start=${start}`, `--end=${end}`, `--step=${step}s`, url, expression),
    labelValues: async (label) => linesOf(await promtool("promql", "labels", url, label)),
    series: async (selector) =>
      linesOf(await promtool("promql", "series", `--match=${selector}`, url)).map((line) => labelsOf(line)),
  };
}

function linesOf(text: string): readonly string[] {
  return text.split("\n").filter((line) => line !== "");
}

/** The labels of `name{label="value"}`. */
function labelsOf(line: string): Readonly<Record<string, string>> {
  const [, name = "", pairs = ""] = /^(?<name>[^{]*)\{?(?<pairs>[^}]*)\}?$/u.exec(line) ?? [];
  const labels = [...pairs.matchAll(/(?<label>\w+)="(?<value>[^"]*)"/gu)].map(
    ([, label = "", value = ""]) => [label, value] as const,
  );
  return Object.fromEntries([...(name === "" ? [] : [["__name__", name] as const]), ...labels]);
}
