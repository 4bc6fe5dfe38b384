import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { packagesScript, quoted } from "../packages.ts";
import { createCgroups } from "./cgroups.ts";
import type { Layout } from "./layout.ts";
import { logPath, markVariable, runInNode, startNamespaces } from "./namespaces.ts";
import { familyVariable, networkScript } from "./network.ts";
import type { ProcessIdentity } from "./process-identity.ts";
import { type NodeRecord, writeRecord } from "./record.ts";

const setUpMsMax = 60_000;

/** What the kubelet would set for the whole machine; it leaves alone what it finds as it wants it. */
const kernelSettings: Readonly<Record<string, string>> = {
  "vm/overcommit_memory": "1",
  "vm/panic_on_oom": "0",
  "kernel/panic": "10",
  "kernel/panic_on_oops": "1",
  "kernel/keys/root_maxkeys": "1000000",
  "kernel/keys/root_maxbytes": "25000000",
};

/** The environment of everything that is started for a node. */
export function nodeEnv(layout: Layout): Readonly<Record<string, string>> {
  const family = process.env[familyVariable];
  return {
    PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
    HOME: layout.root,
    LC_ALL: "C",
    [markVariable]: layout.root,
    ...(family === undefined ? {} : { [familyVariable]: family }),
  };
}

/**
 * Makes a node without servers: its folder, control groups, namespaces, files and network.
 *
 * @throws Error with what the failed command said
 */
export async function startEmptyNode(layout: Layout, packages: string): Promise<Required<NodeRecord>> {
  await makeFolders(layout);
  await createCgroups(layout.cgroup);
  const outer: ProcessIdentity[] = [];
  const init = await startNamespaces({
    tini: join(packages, "usr", "bin", "tini"),
    env: nodeEnv(layout),
    log: logPath(layout.logs, "namespaces"),
    record: (identity) => {
      outer.push(identity);
      writeRecord(layout, { outer: identity, ready: false });
    },
  });
  const [first] = outer;
  if (first === undefined) throw new Error("the node's namespaces were not recorded");
  const record = { outer: first, init, ready: false };
  writeRecord(layout, record);
  const script =
    packagesScript(packages, { upper: layout.varLib, work: layout.varLibWork }) + filesScript(layout) + networkScript;
  const done = await runInNode(init.pid, "node", ["/bin/sh", "-euc", script], {
    env: nodeEnv(layout),
    timeoutMs: setUpMsMax,
  });
  if (done.code !== 0) throw new Error(`the node's files and network could not be set up: ${done.stderr.trim()}`);
  return record;
}

async function makeFolders(layout: Layout): Promise<void> {
  const folders = [layout.logs, layout.configuration, layout.varLog, layout.varLib, layout.varLibWork, layout.settings];
  for (const folder of [layout.root, ...folders]) await mkdir(folder, { recursive: true });
  await Promise.all(settingFiles(layout).map(([path, value]) => writeFile(path, `${value}\n`)));
}

/** Covers what the kubelet would otherwise write on this machine: its logs, and settings of the whole kernel. */
function filesScript(layout: Layout): string {
  const settings = settingFiles(layout).map(([path, , setting]) => [path, `/proc/sys/${setting}`] as const);
  return [[layout.varLog, "/var/log"] as const, ...settings]
    .map(([own, seen]) => `mount --bind ${quoted(own)} ${seen}\n`)
    .join("");
}

function settingFiles(layout: Layout): readonly (readonly [path: string, value: string, setting: string])[] {
  return Object.entries(kernelSettings).map(([setting, value]) => {
    return [join(layout.settings, setting.replaceAll("/", ".")), value, setting] as const;
  });
}

/** The end of a server's log, for an error. */
export function logTail(layout: Layout, name: string, lines: number): string {
  return readFileSync(logPath(layout.logs, name), "utf8").trimEnd().split("\n").slice(-lines).join("\n");
}
