import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { createKubeClient } from "../../kube/client/client.ts";
import { openKubeConfig } from "../../kube/client/kube-config.ts";
import { createKubeMetrics } from "../../kube/metrics.ts";
import { kindsInOrder, resourceTypes } from "../../operator/resource-types.ts";
import { Registry } from "prom-client";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";

const program = fileURLToPath(new URL("main.ts", import.meta.url));
const run = async (command: string, state: string) =>
  await promisify(execFile)(process.execPath, [program, command, state]);

let folder: TemporaryFolder | undefined;
afterEach(async () => {
  if (folder === undefined) return;
  await run("down", join(folder.path, "api"));
  await folder.remove();
});

test("an API server for development serves the four kinds until it is ended, and leaves nothing", async () => {
  folder = await temporaryFolder("dev-api");
  const state = join(folder.path, "api");
  const { stdout } = await run("up", state);
  expect(stdout).toMatch(/^\/.*kubeconfig\n$/u);
  const kubeconfig = stdout.trim();
  const client = createKubeClient({
    access: openKubeConfig([kubeconfig]),
    userAgent: "test",
    metrics: createKubeMetrics(new Registry()),
  });
  for (const kind of kindsInOrder) expect((await client.list(resourceTypes[kind])).items).toEqual([]);
  await client.close();
  expect((await run("up", state)).stdout).toBe(stdout);
  await run("down", state);
  expect([kubeconfig, state].map((path) => existsSync(path))).toEqual([false, false]);
  expect((await run("down", state)).stderr).toContain("nothing is left");
});
