import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { run } from "../tools/run.ts";

const root = join(import.meta.dirname, "..", "..");
const commandMsMax = 20_000;
/** Makes a Node tell that it is an old one. */
const tellsOld =
  'data:text/javascript,const of={...process.versions,node:"20.1.0"};' +
  'Object.defineProperty(process,"versions",{value:of});Object.defineProperty(process,"version",{value:"v20.1.0"})';
const programs = [
  ["heliograph", "cli/heliograph.ts"],
  ["heliograph-operator", "cli/operator/heliograph-operator.ts"],
] as const;

let folder: TemporaryFolder;

/** A checkout that holds the real entries, and programs that print their arguments. */
beforeEach(async () => {
  folder = await temporaryFolder("entry");
  await cp(join(root, "bin"), join(folder.path, "bin"), { recursive: true });
  await writeFile(join(folder.path, "package.json"), '{"type":"module"}');
  for (const [name, path] of programs) {
    await mkdir(join(folder.path, path, ".."), { recursive: true });
    await writeFile(join(folder.path, path), `const args: string[] = process.argv; ${programText(name)}`);
  }
});
afterEach(async () => folder.remove());

function programText(name: string): string {
  return `
    if (args[2] === "wait") {
      for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => process.exit(9));
      setInterval(() => {}, 1e6);
    } else process.exitCode = 7;
    console.log(${JSON.stringify(name)}, args.slice(2).join(" "));
  `;
}

const entry = (name: string): string => join(folder.path, "bin", `${name}.js`);
const inOldNode = (name: string, ...args: readonly string[]) =>
  run(process.execPath, ["--import", tellsOld, entry(name), ...args], { timeoutMs: commandMsMax });

async function installNode(): Promise<void> {
  const bin = join(folder.path, "node_modules", ".bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, "node"), `#!/bin/sh\nexec "${process.execPath}" "$@"\n`, { mode: 0o755 });
}

describe.each(programs)("the entry of %s", (name) => {
  test("runs the program in this Node", async () => {
    const { code, stdout } = await run(process.execPath, [entry(name), "a", "b"], { timeoutMs: commandMsMax });
    expect({ code, stdout }).toEqual({ code: 7, stdout: `${name} a b\n` });
  });

  test("says in one sentence that an installed package needs Node 24", async () => {
    const stderr = `${name}: Node.js v20.1.0 is too old: install Node.js 24 or newer (https://nodejs.org).\n`;
    expect(await inOldNode(name)).toEqual({ code: 2, stdout: "", stderr });
  });

  test("says in a checkout how to install Node 24 there", async () => {
    await writeFile(join(folder.path, "Makefile"), "");
    const advice = "run `make install` in the checkout, which installs Node.js 24 there";
    const stderr = `${name}: Node.js v20.1.0 is too old: ${advice}.\n`;
    expect(await inOldNode(name)).toEqual({ code: 2, stdout: "", stderr });
  });

  test("hands over to the Node of the checkout, with arguments and exit code", async () => {
    await installNode();
    expect(await inOldNode(name, "a", "b")).toMatchObject({ code: 7, stdout: `${name} a b\n` });
  });

  test("does not hand over to itself", async () => {
    const bin = join(folder.path, "node_modules", ".bin");
    await mkdir(bin, { recursive: true });
    await symlink(process.execPath, join(bin, "node"));
    expect(await inOldNode(name)).toMatchObject({ code: 2, stdout: "" });
  });
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s reaches the Node that took over, whose exit code counts",
  async (signal) => {
    await installNode();
    const child = spawn(process.execPath, ["--import", tellsOld, entry("heliograph"), "wait"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const closed = once(child, "close");
    await once(child.stdout, "data");
    child.kill(signal);
    expect((await closed)[0]).toBe(9);
  },
);

test("an old Node of this machine reads every entry", async (context) => {
  const old = await oldNode();
  if (old === undefined) return context.skip("no Node on PATH is older than 24");
  for (const [name] of programs) {
    const stderr = expect.stringMatching(/^[a-z-]+: Node\.js v[\d.]+ is too old: .*\.\n$/u);
    const outcome = await run(old, [entry(name)], { timeoutMs: commandMsMax });
    expect(outcome).toEqual({ code: 2, stdout: "", stderr });
  }
});

async function oldNode(): Promise<string | undefined> {
  for (const place of (process.env["PATH"] ?? "").split(delimiter).filter((path) => path !== "")) {
    const path = join(place, "node");
    const { code, stdout } = await run(path, ["-p", "process.versions.node"], { timeoutMs: commandMsMax });
    if (code === 0 && parseInt(stdout, 10) < 24) return path;
  }
  return undefined;
}
