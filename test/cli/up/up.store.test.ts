import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { arePortsFree, examplePorts, listenOn, takeDemoTurn, turnMsMax, type DemoTurn } from "../../demo/demo-turn.ts";
import { runProgram, startProgram } from "../../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { resolveTool } from "../../tools/resolve.ts";
import { run } from "../../tools/run.ts";

const root = join(import.meta.dirname, "../../..");
const ports = [...examplePorts, 18_480, 18_481];
const upMsMax = 240_000;
const lineMsMax = 90_000;

let turn: DemoTurn;
let folder: TemporaryFolder;
let flags: readonly string[];

beforeAll(async () => {
  turn = await takeDemoTurn(ports);
  folder = await temporaryFolder("up");
  const programs = ["--nats-server", await resolveTool("nats-server"), "--prometheus", await resolveTool("prometheus")];
  flags = ["up", "--port", "18480", "--admin-port", "18481", "--data", folder.path, ...programs];
}, turnMsMax);

afterAll(async () => {
  await folder?.remove();
  turn?.end();
});

test("every line that up prints works in a shell, and a signal leaves nothing", { timeout: upMsMax }, async () => {
  const up = startProgram(flags);
  onTestFinished(async () => {
    up.signal("SIGTERM");
    await up.ended();
  });
  let hasEnded = false;
  void up.ended().then(() => (hasEnded = true));
  const isUp = () => up.stdout().includes("/healthz") || hasEnded;
  await waitFor(isUp, { timeoutMs: upMsMax, what: "the demonstration to be up" });
  const [note = "", exported = "", ...lines] = up.stdout().trimEnd().split("\n");
  expect(up.stderr()).not.toContain("heliograph:");
  expect(note).toMatch(/^# Heliograph serves http:\/\/127\.0\.0\.1:18480 until Ctrl-C\./u);
  expect((await stat(join(folder.path, "token"))).mode & 0o777).toBe(0o600);
  expect(up.stdout()).not.toContain("eyJ");
  const outputs = [];
  for (const line of lines) {
    // npm would look for the command for a second each time.
    const command = line.replace(/^npx heliograph /u, `${process.execPath} bin/heliograph.js `);
    const outcome = await run("sh", ["-c", `${exported}; ${command}`], { cwd: root, timeoutMs: lineMsMax });
    expect({ line, code: outcome.code, stderr: outcome.stderr }).toMatchObject({ line, code: 0 });
    outputs.push(outcome.stdout);
  }
  const [address, sent, listed, chart, slo, gate] = outputs;
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:18480\/console\/#token=eyJ\S+\n$/u);
  expect(sent).toContain("delivered");
  expect(listed).toContain("payout.created");
  expect(chart).toMatch(/deposits_success_pct psp=\w+\n.*│/u);
  expect(slo).toMatch(/^rate +lumen /mu);
  expect(gate).toMatch(/^green lumen\/rate in eu,latam: /u);
  up.signal("SIGTERM");
  expect(await up.ended()).toMatchObject({ code: 0 });
  expect(await arePortsFree(ports)).toBe(true);
});

test("Ctrl-C while a store is filled ends with 0 and leaves nothing", { timeout: upMsMax }, async () => {
  const up = startProgram(flags);
  const isFilling = () => up.stderr().includes("filling the store eu");
  await waitFor(isFilling, { timeoutMs: lineMsMax, what: "the store to be filled" });
  up.signal("SIGINT");
  expect(await up.ended()).toEqual({
    code: 0,
    stdout: "",
    stderr: "filling the store eu with one day of data\nstopping\n",
  });
  expect(await arePortsFree(ports)).toBe(true);
});

test("up says which port a partner cannot have", async () => {
  const taken = await listenOn(19_101);
  const { code, stdout, stderr } = await runProgram(flags);
  taken.close();
  expect({ code, stdout }).toEqual({ code: 70, stdout: "" });
  expect(stderr).toContain(
    "heliograph: The partner acme-payments cannot listen on port 19101: end what uses it and try again.",
  );
});

test("up says how to get prometheus", async () => {
  const environment = { PATH: join(folder.path, "nothing"), XDG_CACHE_HOME: join(folder.path, "nothing") };
  const { code, stderr } = await runProgram(["up", "--data", join(folder.path, "other")], { environment });
  expect(code).toBe(70);
  expect(stderr).toMatch(/heliograph: prometheus was not found: .*https:.*--prometheus.*npm run tools -- prometheus/u);
});
