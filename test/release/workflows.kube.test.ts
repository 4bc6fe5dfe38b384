import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { findPythonProgram } from "../support/python-program.ts";
import { resolveTool } from "../tools/resolve.ts";
import { run } from "../tools/run.ts";

const root = join(import.meta.dirname, "..", "..");
const folder = join(root, ".github", "workflows");
const names = readdirSync(folder);
const judgeMsMax = 60_000;
/** The first run installs zizmor. */
const installMsMax = 4 * 60_000;

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly permissions: Readonly<Record<string, string>>;
  readonly "timeout-minutes": number;
  readonly steps: readonly Step[];
}

const workflows = names.map((name) => ({
  name,
  workflow: parse(readFileSync(join(folder, name), "utf8")) as Workflow,
}));
const jobs = workflows.flatMap(({ name, workflow }) =>
  Object.entries(workflow.jobs).map(([job, content]) => ({ ...content, name: `${name} ${job}` })),
);

describe("the workflows pass", () => {
  test("actionlint", async () => {
    const files = names.map((name) => join(folder, name));
    // Programs that a machine may have are not asked, so that every machine gets the same result.
    const result = await run(await resolveTool("actionlint"), ["-shellcheck=", "-pyflakes=", ...files], {
      cwd: root,
      timeoutMs: judgeMsMax,
    });
    expect(result).toMatchObject({ code: 0, stdout: "" });
  });

  test(
    "zizmor, with Dependabot's file",
    async (context) => {
      const found = await findPythonProgram("zizmor");
      if ("missing" in found) return context.skip(found.missing);
      const args = ["--offline", "--pedantic", "--no-progress", "--color=never", join(root, ".github")];
      const { code, stdout, stderr } = await run(found.command, args, { cwd: root, timeoutMs: judgeMsMax });
      expect(code === 0 ? "good" : `${stdout}\n${stderr}`).toBe("good");
    },
    installMsMax,
  );
});

describe("the workflows", () => {
  test("run nothing but make targets that there are", () => {
    const targets = [...readFileSync(join(root, "Makefile"), "utf8").matchAll(/^([a-z-]+):/gmu)].map(
      ([, name]) => name,
    );
    const commands = jobs.flatMap(({ steps }) => steps.flatMap(({ run: command }) => command ?? []));
    const odd = commands.filter((command) => !targets.includes(/^make ([a-z-]+)(?: ARGS=\S+)?$/u.exec(command)?.[1]));
    expect(commands.length).toBeGreaterThan(8);
    expect(odd).toEqual([]);
  });

  test("pin every action by its commit", () => {
    const uses = jobs.flatMap(({ steps }) => steps.flatMap(({ uses: action }) => action ?? []));
    expect(uses.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/u.test(action))).toEqual([]);
  });

  test("give rights to jobs only, and a bound on the time of each", () => {
    expect(workflows.filter(({ workflow }) => Object.keys(workflow.permissions).length > 0)).toEqual([]);
    expect(jobs.filter((job) => !(job["timeout-minutes"] <= 150))).toEqual([]);
  });

  test("let only the jobs of a release write, and start no run with the rights of the target of a pull request", () => {
    const writing = jobs.filter(({ permissions }) => Object.values(permissions).includes("write"));
    expect(writing.map(({ name }) => name)).toEqual(["release.yml registry", "release.yml npm", "release.yml page"]);
    expect(workflows.flatMap(({ workflow }) => Object.keys(workflow.on)).sort()).toEqual([
      "pull_request",
      "push",
      "push",
    ]);
  });
});
