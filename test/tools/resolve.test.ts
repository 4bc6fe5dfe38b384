import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TemporaryFolder, temporaryFolder } from "../support/temp-folder.ts";
import { cacheFolderName, moduleVersion } from "./go-build.ts";
import { resolveProgram } from "./resolve.ts";
import { run } from "./run.ts";
import { type Tool, type ToolName, tools } from "./tool-table.ts";

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder("resolve");
});
afterEach(() => folder.remove());

const tiny: Tool = {
  source: {
    folder: "tiny",
    packages: ["."],
    versionModule: "",
    tags: "",
    linkerFlags: () => "-X main.version=1.2.3",
    links: ["tiny-too"],
    cost: "a second",
  },
  minimum: [1, 2, 0],
  versionArgs: ["--version"],
  pathVariable: "TINY",
};

/** Imports nothing, since Go compiles the standard library too on a machine where it never built anything. */
const mainGo = 'package main\n\nvar version = "0.0.0"\n\nfunc main() { println("tiny " + version) }\n';
const coldBuildMs = 120_000;

async function writeTinyModule(): Promise<string> {
  const module = join(folder.path, "tools", "tiny");
  await mkdir(module, { recursive: true });
  await writeFile(join(module, "go.mod"), "module example.test/tiny\n\ngo 1.26.0\n");
  await writeFile(join(module, "main.go"), mainGo);
  return join(folder.path, "tools");
}

/** A program on a PATH of its own that says it has a version. */
async function writeProgram(name: string, version: string): Promise<string> {
  const bin = join(folder.path, "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, name), `#!/bin/sh\necho "${name} ${version}"\n`);
  await chmod(join(bin, name), 0o755);
  return bin;
}

describe("resolveProgram", { timeout: coldBuildMs }, () => {
  test("builds a program that is nowhere, with its links, and finds it in the cache the next time", async () => {
    const lines: string[] = [];
    const options = {
      toolsFolder: await writeTinyModule(),
      env: { XDG_CACHE_HOME: folder.path },
      progress: (line: string) => lines.push(line),
    };
    const path = await resolveProgram("tiny", tiny, options);
    expect(await run(path, [], { timeoutMs: 5_000 })).toMatchObject({ code: 0, stderr: "tiny 1.2.3\n" });
    expect((await readdir(join(path, ".."))).sort()).toEqual(["tiny", "tiny-too"]);
    expect(lines[0]).toBe("building tiny from pinned Go modules (a second)");
    lines.length = 0;
    expect(await resolveProgram("tiny", tiny, options)).toBe(path);
    expect(lines).toEqual([]);
  });

  test("builds once when two processes ask at the same time", async () => {
    const toolsFolder = await writeTinyModule();
    const script = [
      `const { resolveProgram } = await import(${JSON.stringify(new URL("./resolve.ts", import.meta.url).href)});`,
      `const tool = { ...${JSON.stringify(tiny)}, source: { ...${JSON.stringify(tiny.source)}, linkerFlags: () ` +
        `=> "" } };`,
      `const options = { toolsFolder: ${JSON.stringify(toolsFolder)}, env: { XDG_CACHE_HOME: ` +
        `${JSON.stringify(folder.path)} } };`,
      `console.log(await resolveProgram("tiny", tool, options));`,
    ].join("\n");
    const both = await Promise.all([runNode(script), runNode(script)]);
    expect(both[0].stdout).toBe(both[1].stdout);
    expect(both.filter(({ stderr }) => stderr.includes("building tiny"))).toHaveLength(1);
    expect(await readdir(join(folder.path, "heliograph", "tools"))).toHaveLength(1);
  });

  test("removes what a build that was killed left behind", async () => {
    const options = {
      toolsFolder: await writeTinyModule(),
      env: { XDG_CACHE_HOME: folder.path },
      progress: () => undefined,
    };
    const cache = join(folder.path, "heliograph", "tools");
    const name = cacheFolderName(tiny.source, options.toolsFolder);
    await mkdir(join(cache, `${name}.making.1`), { recursive: true });
    await resolveProgram("tiny", tiny, options);
    expect(await readdir(cache)).toEqual([name]);
  });

  test("takes a program on PATH that is new enough", async () => {
    const bin = await writeProgram("tiny", "1.2.0");
    const env = { XDG_CACHE_HOME: folder.path, PATH: bin };
    expect(await resolveProgram("tiny", tiny, { env })).toBe(join(bin, "tiny"));
  });

  test("passes over a program on PATH that is too old, and says so", async () => {
    const bin = await writeProgram("tiny", "1.1.9");
    const lines: string[] = [];
    const env = { XDG_CACHE_HOME: folder.path, PATH: bin };
    const path = await resolveProgram("tiny", tiny, {
      env,
      toolsFolder: await writeTinyModule(),
      progress: (line) => lines.push(line),
    });
    expect(path).not.toContain(bin);
    expect(lines[0]).toBe(`${join(bin, "tiny")} is version 1.1.9; 1.2.0 or newer is needed, so it is passed over`);
  });

  test("takes an older one when the caller is content with it", async () => {
    const bin = await writeProgram("tiny", "1.1.9");
    const env = { XDG_CACHE_HOME: folder.path, PATH: bin };
    expect(await resolveProgram("tiny", tiny, { env, minimum: [1, 0, 0] })).toBe(join(bin, "tiny"));
  });

  test("refuses a named program that is too old instead of going on", async () => {
    const bin = await writeProgram("tiny", "1.1.9");
    const resolved = resolveProgram("tiny", tiny, { env: { TINY: join(bin, "tiny") } });
    await expect(resolved).rejects.toThrow("TINY cannot be used: ");
    await expect(resolved).rejects.toThrow("is version 1.1.9; 1.2.0 or newer is needed.");
  });

  test("refuses a named program that is not there", async () => {
    const resolved = resolveProgram("tiny", tiny, { env: { TINY: "/no/such/tiny" } });
    await expect(resolved).rejects.toThrow("TINY cannot be used: /no/such/tiny is not an executable file.");
  });

  test("says what to install when Go is too old to build with", async () => {
    const toolsFolder = await writeTinyModule();
    await writeFile(join(toolsFolder, "tiny", "go.mod"), "module example.test/tiny\n\ngo 9.99.0\n");
    const resolved = resolveProgram("tiny", tiny, { toolsFolder, env: { XDG_CACHE_HOME: folder.path } });
    await expect(resolved).rejects.toThrow(/^tiny 1\.2\.0 or newer is needed, and the Go on PATH does not suffice/u);
    await expect(resolved).rejects.toThrow("or put tiny on PATH or name it in TINY.");
  });

  test("reports the end of Go's output when a build fails and leaves nothing behind", async () => {
    const toolsFolder = await writeTinyModule();
    await writeFile(join(toolsFolder, "tiny", "main.go"), "package main\n\nfunc main() { undefinedThing() }\n");
    const options = { toolsFolder, env: { XDG_CACHE_HOME: folder.path }, progress: () => undefined };
    await expect(resolveProgram("tiny", tiny, options)).rejects.toThrow(/go build of tiny failed:[^]*undefinedThing/u);
    expect(await readdir(join(folder.path, "heliograph", "tools"))).toEqual([]);
  });
});

describe("the pinned modules", () => {
  const toolsFolder = fileURLToPath(new URL(".", import.meta.url));
  const names = Object.keys(tools) as readonly ToolName[];

  test.each(names)("of %s give its build a version", async (name) => {
    const { source } = tools[name];
    const goMod = await readFile(join(toolsFolder, source.folder, "go.mod"), "utf8");
    expect(moduleVersion(goMod, source.versionModule)).toMatch(/^v\d+\.\d+\.\d+$/u);
  });

  test("name the cache folder, which changes with them", async () => {
    const own = await writeTinyModule();
    const before = cacheFolderName(tiny.source, own);
    await writeFile(join(own, "tiny", "go.sum"), "example.test/other v1.0.0 h1:abc=\n");
    expect(cacheFolderName(tiny.source, own)).not.toBe(before);
  });
});

async function runNode(script: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  await once(child, "close");
  return { stdout, stderr };
}
