import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../../support/webhook-partner.ts";
import { run } from "../../tools/run.ts";
import {
  eventText,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
  type Running,
} from "../../cli/installation.ts";

const timeoutMs = 30_000;
const planted = {
  signingKey: "acme-".padEnd(40, "k"),
  body: "marker-of-a-body",
  card: "4111111111111111",
  jwt: "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLWEtdG9rZW4",
  password: "hunter2-of-nats",
  mail: "ann@example.com",
  address: "203.0.113.7",
  pem: "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
  unknownField: "whatever-a-caller-sent",
};

let partner: WebhookPartnerServer;
let installation: Installation;
let program: Running;
let folder: TemporaryFolder;
let token: string;

beforeAll(async () => {
  partner = await startWebhookPartner();
  folder = await temporaryFolder("bundle");
  installation = await makeInstallation();
  await installation.write("partner.yaml", partnerText("acme", partner.url));
  program = await installation.start();
  token = await installation.token();
  const event = eventText("e-1", { data: { note: planted.body } });
  await postEvent(program.line.url, token, event);
  const isLogged = (): boolean => program.logLines().some(({ msg }) => msg === "attempt");
  await waitFor(isLogged, { timeoutMs, what: "the log line of the attempt" });
}, 3 * timeoutMs);

afterAll(async () => {
  await installation?.remove();
  await partner?.close();
  await folder?.remove();
});

/** Log lines of the program, and lines that hold a secret in every place. */
async function writeLog(): Promise<string> {
  const { card, jwt, mail, address, pem, unknownField } = planted;
  const secrets = [card, jwt, mail, address, `-----BEGIN PRIVATE KEY-----\n${pem}\n-----END PRIVATE KEY-----`, token];
  const lines = secrets.flatMap((secret) => [
    JSON.stringify({ level: 50, msg: `refused ${secret}`, detail: secret, err: { message: secret, stack: secret } }),
    JSON.stringify({ level: 30, msg: "request", [unknownField]: secret, client: secret, eventId: secret }),
    `panic: ${secret} ${unknownField}`,
  ]);
  const file = join(folder.path, "product.log");
  await writeFile(file, `${program.stderr()}${lines.join("\n")}\n`);
  return file;
}

async function filesOf(archive: string): Promise<readonly string[]> {
  const { code, stdout, stderr } = await run("tar", ["-tzf", archive], { timeoutMs });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.trim().split("\n");
}

async function manifestOf(archive: string): Promise<Readonly<Record<string, unknown>>> {
  const { stdout } = await run("tar", ["-xzOf", archive, "manifest.json"], { timeoutMs });
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}

test("a bundle has the state of the program and none of its secrets", { timeout: 2 * timeoutMs }, async () => {
  const output = join(folder.path, "bundle.tgz");
  const log = await writeLog();
  const args = [
    "--admin",
    program.line.admin_url,
    "--nats",
    program.line.nats_url,
    "--data",
    installation.data,
    "--log",
    log,
    "--output",
    output,
  ];
  const environment = { HELIOGRAPH_CONFIG: `nats://runtime:${planted.password}@nats:4222`, HELIOGRAPH_SHARDS: "32" };
  expect(await runProgram(["debug", "bundle", ...args], { environment })).toMatchObject({ code: 0, stdout: "" });
  expect(await filesOf(output)).toEqual([
    "manifest.json",
    ...["healthz.json", "readyz.json", "configz.json", "metrics.txt"].map((name) => `admin-1/${name}`),
    "nats.json",
    "log-1.jsonl",
  ]);
  const text = gunzipSync(await readFile(output)).toString();
  for (const secret of [...Object.values(planted), token]) expect(text).not.toContain(secret);
  expect(text).toContain(program.line.config_hash);
  expect(text).toContain('heliograph_webhook_ingest_total{outcome="stored"} 1');
  expect(text).toContain('"name": "HG_DELIVERIES"');
  expect(text).toContain('"num_ack_pending"');
  expect(text).toContain('"msg":"attempt"');
  expect(await manifestOf(output)).toMatchObject({ flags: { config: "nats://[credentials]@nats:4222", shards: "32" } });
});

test("a bundle says what it could not get, and has the rest", { timeout: 2 * timeoutMs }, async () => {
  const output = join(folder.path, "away.tgz");
  const away = `127.0.0.1:${await freePort()}`;
  const admins = ["--admin", `http://${away}`, "--admin", program.line.admin_url];
  const more = ["--nats", `nats://${away}`, "--log", join(folder.path, "none.log"), "--output", output];
  const { code, stderr } = await runProgram(["debug", "bundle", ...admins, ...more]);
  expect(code).toBe(0);
  for (const name of ["admin-1/healthz.json", "nats.json", "log-1.jsonl"])
    expect(stderr).toContain(`${name} is missing`);
  expect(await filesOf(output)).toContain("admin-2/readyz.json");
  const { parts } = (await manifestOf(output)) as { readonly parts: readonly { readonly ok: boolean }[] };
  expect(parts.filter(({ ok }) => !ok)).toHaveLength(6);
});
