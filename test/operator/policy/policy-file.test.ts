import { rename, symlink, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createOperatorMetrics } from "../../../operator/metrics.ts";
import { PolicyError } from "../../../operator/policy/parse-policy.ts";
import { PolicyFile } from "../../../operator/policy/policy-file.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";

let folder: TemporaryFolder;
let file: PolicyFile | undefined;
beforeEach(async () => {
  folder = await temporaryFolder("policy");
});
afterEach(async () => {
  file?.stop();
  await folder.remove();
});

const grantFor = (namespace: string) => `grants: [{namespaces: [${namespace}]}]`;

async function open(path: string) {
  const clock = new ManualClock();
  const metrics = createOperatorMetrics(new Registry());
  let changes = 0;
  file = await PolicyFile.open({
    path,
    clock,
    log: pino({ level: "silent" }),
    metrics,
    onChange: () => (changes += 1),
  });
  const opened = file;
  /** Lets it look once, and waits until it waits for the next look. */
  const look = async (): Promise<void> => {
    clock.advance(1_000);
    await waitFor(() => clock.waiting > 0, { timeoutMs: 20_000, what: "the look to end" });
  };
  const failures = async () =>
    (await metrics.policyReloads.get()).values.find(({ labels }) => labels.result === "failed")?.value ?? 0;
  return {
    opened,
    look,
    failures,
    changes: () => changes,
    names: () => opened.policy.grants.flatMap(({ namespaces }) => namespaces),
  };
}

describe("the policy's file", () => {
  test("applies, and applies again when it changes", async () => {
    const path = join(folder.path, "policy.yaml");
    await writeFile(path, grantFor("one"));
    const { look, names, changes } = await open(path);
    expect(names()).toEqual(["one"]);
    await look();
    expect(changes()).toBe(0);
    await writeFile(path, grantFor("two"));
    await look();
    expect([names(), changes()]).toEqual([["two"], 1]);
  });

  test("is found behind a link that is swapped, as a mounted ConfigMap's", async () => {
    const link = join(folder.path, "..data");
    for (const name of ["one", "two"]) await writeFile(join(folder.path, name), grantFor(name));
    await symlink(join(folder.path, "one"), link);
    const { look, names } = await open(link);
    await symlink(join(folder.path, "two"), `${link}.new`);
    await rename(`${link}.new`, link);
    await look();
    expect(names()).toEqual(["two"]);
  });

  test("that is spoilt or gone leaves the policy in force, and applies when it is back", async () => {
    const path = join(folder.path, "policy.yaml");
    await writeFile(path, grantFor("one"));
    const { look, names, failures, changes } = await open(path);
    await writeFile(path, "grants: nonsense");
    await look();
    await unlink(path);
    await look();
    expect([names(), await failures(), changes()]).toEqual([["one"], 2, 0]);
    await writeFile(path, grantFor("three"));
    await look();
    expect([names(), changes()]).toEqual([["three"], 1]);
  });

  test("gives way to newer texts of the same object, of which an invalid one changes nothing", async () => {
    const path = join(folder.path, "policy.yaml");
    await writeFile(path, grantFor("one"));
    const { opened, names, failures, changes } = await open(path);
    opened.use(grantFor("one"));
    expect(changes()).toBe(0);
    opened.use(grantFor("two"));
    expect([names(), changes()]).toEqual([["two"], 1]);
    for (const text of ["grants: nonsense", ""]) opened.use(text);
    expect([names(), await failures(), changes()]).toEqual([["two"], 2, 1]);
    opened.use(grantFor("three"));
    expect([names(), changes()]).toEqual([["three"], 2]);
  });

  test.each([
    ["is not there", undefined],
    ["holds no policy", "grants: nonsense"],
    ["is far too large", `# ${"x".repeat(1024 * 1024)}`],
  ])("that %s is refused at the start", async (_what, text) => {
    const path = join(folder.path, "policy.yaml");
    if (text !== undefined) await writeFile(path, text);
    await expect(open(path)).rejects.toThrow(PolicyError);
  });
});
