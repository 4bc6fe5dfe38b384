import { createHash, X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createCertificateAuthority } from "../support/tls/certificate-authority.ts";
import { startProgram } from "../support/heliograph-process.ts";
import { freePort } from "../support/free-port.ts";
import { askHttps } from "../support/tls/https.ts";
import { clusterConfigs } from "../support/nats-cluster.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { stallMsMax, waitFor } from "../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../support/webhook-partner.ts";
import { eventText, get, makeInstallation, partnerText, postEvent, type Installation } from "./installation.ts";
import { resolveTool } from "../tools/resolve.ts";
import { makeIssuer, signToken } from "../support/tokens.ts";

const patience = { timeoutMs: 20_000, pollMs: 10 };

let installation: Installation;
let partner: WebhookPartnerServer;
let ends: (() => Promise<void>)[];

beforeEach(async () => {
  installation = await makeInstallation();
  partner = await startWebhookPartner();
  ends = [];
});

afterEach(async () => {
  for (const end of ends.toReversed()) await end();
  await partner.close();
  await installation.remove();
});

/** Starts a runtime on free ports that trusts one issuer; answers its ready line and a token. */
async function start(
  config: string,
  nats: string,
  environment: Record<string, string> = {},
  others: { settings?: object; cnf?: object; adminPort?: number } = {},
) {
  const issuer = await makeIssuer("https://issuer.example");
  const file = (name: string) => join(installation.data, "..", name);
  await writeFile(file("keys.json"), JSON.stringify({ keys: [issuer.publicJwk] }));
  await writeFile(
    file("settings.json"),
    JSON.stringify({
      issuers: [{ issuer: issuer.issuer, audiences: ["heliograph"], jwksFile: "keys.json" }],
      ...others.settings,
    }),
  );
  const flags = [
    "--config",
    config,
    "--nats",
    nats,
    "--port",
    "0",
    "--admin-port",
    String(others.adminPort ?? 0),
    "--host",
    "127.0.0.1",
    "--unready-seconds",
    "0",
  ];
  const program = startProgram(["runtime", ...flags, "--settings", file("settings.json")], { environment });
  ends.push(async () => {
    program.signal("SIGTERM");
    expect((await program.ended()).code).toBe(0);
  });
  const exp = Math.floor(Date.now() / 1000) + 600;
  const token = await signToken(issuer, {
    iss: issuer.issuer,
    aud: "heliograph",
    sub: "shop",
    exp,
    scope: "events:write",
    tenants: ["*"],
    cnf: others.cnf,
  });
  return { program, line: await program.ready(), token };
}

/** Waits until a pod is unready because streams are lost. */
const untilLost = (adminUrl: string) =>
  waitFor(
    async () => {
      const { status, body } = await get(`${adminUrl}/readyz`);
      return status === 503 && JSON.stringify(body).includes("StreamsLost: HG_EVENTS, made ");
    },
    { timeoutMs: 30_000, pollMs: 100, what: "the loss" },
  );

const delivered = (eventId: string) =>
  waitFor(() => partner.of(eventId).length > 0, { ...patience, what: `the delivery of ${eventId}` });

describe("heliograph runtime", () => {
  test("runs on a folder with a nats-server of its own, and trusts no development issuer", async () => {
    await installation.write("partner.yaml", partnerText("acme", partner.url));
    const environment = {
      HELIOGRAPH_DATA: installation.data,
      HELIOGRAPH_NATS_SERVER: await resolveTool("nats-server"),
    };
    const { line, token } = await start(installation.folder, "embedded", environment);
    expect((await postEvent(line.url, await installation.token(), eventText("evt-0"))).status).toBe(401);
    expect((await postEvent(line.url, token, eventText("evt-1"))).status).toBe(202);
    await delivered("evt-1");
    expect((await get(`${line.admin_url}/configz`)).body).toMatchObject({
      ready: true,
      hash: line.config_hash,
      shards: {},
      partners: 1,
    });
  });

  test("is one process with the deprecated HELIOGRAPH_PROCESSES, and warns once", async () => {
    const nats = await startNatsServer();
    ends.push(() => nats.stop());
    const { program, line } = await start(installation.folder, nats.url, { HELIOGRAPH_PROCESSES: "auto" });
    expect(line.pid).toBe(program.pid);
    const warnings = program.logLines().filter(({ msg }) => /HELIOGRAPH_PROCESSES/u.test(String(msg)));
    expect(warnings).toMatchObject([{ level: 40, processes: "auto" }]);
  });

  test("waits, unready and by name, for JetStream, and is ready once it is on", async () => {
    const nats = await startNatsServer({ config: "jetstream: disabled" });
    ends.push(() => nats.stop());
    const adminPort = await freePort();
    const starting = start(installation.folder, nats.url, {}, { adminPort });
    starting.catch(() => undefined);
    const isNamed = async (): Promise<boolean> => {
      const { status, body } = await get(`http://127.0.0.1:${adminPort}/readyz`);
      return status === 503 && JSON.stringify(body).includes("JetStream is not enabled on ");
    };
    await waitFor(isNamed, { ...patience, what: "the reason" });
    await nats.reload("");
    const { line } = await starting;
    expect((await get(`${line.admin_url}/readyz`)).status).toBe(200);
  });

  test("ends at once on SIGTERM while it waits for the leader of a cluster", async () => {
    const [config = ""] = await clusterConfigs();
    const nats = await startNatsServer({ config });
    ends.push(() => nats.stop());
    const adminPort = await freePort();
    const flags = ["--config", installation.folder, "--nats", nats.url, "--port", "0", "--host", "127.0.0.1"];
    const program = startProgram(["runtime", ...flags, "--admin-port", String(adminPort)]);
    const isWaiting = async (): Promise<boolean> => {
      const { body } = await get(`http://127.0.0.1:${adminPort}/readyz`);
      return JSON.stringify(body).includes('{"name":"nats","ok":true}');
    };
    await waitFor(isWaiting, { ...patience, what: "the connection" });
    program.signal("SIGTERM");
    const startedAt = performance.now();
    expect((await program.ended()).code).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(stallMsMax);
  });

  test("waits, unready and by name, for streams that another pod recorded, and is ready when their NATS is back", async () => {
    const right = await startNatsServer({ storeDir: join(installation.data, "right") });
    ends.push(() => right.stop());
    const { line } = await start(installation.folder, right.url);
    await right.kill9();
    const wrong = await startNatsServer({ port: right.port });
    ends.push(() => wrong.stop());
    await untilLost(line.admin_url);
    const adminPort = await freePort();
    const flags = [
      "--config",
      installation.folder,
      "--nats",
      right.url,
      "--port",
      "0",
      "--admin-port",
      String(adminPort),
      "--pod-name",
      "second",
    ];
    const second = startProgram(["runtime", ...flags, "--host", "127.0.0.1", "--unready-seconds", "0"]);
    ends.push(async () => {
      second.signal("SIGTERM");
      await second.ended();
    });
    await untilLost(`http://127.0.0.1:${adminPort}`);
    await wrong.stop();
    await right.restart();
    expect(await second.ready()).toMatchObject({ ready: true });
  });

  test("serves https and accepts only tokens that are bound to the client's certificate, when the settings require it", async () => {
    await installation.write("partner.yaml", partnerText("acme", partner.url));
    const authority = createCertificateAuthority("authority of the runtime");
    const [served, own] = [
      authority.issue({ commonName: "api", names: ["localhost"] }),
      authority.issue({ commonName: "shop" }),
    ];
    const folder = join(installation.data, "..");
    await writeFile(join(folder, "tls.crt"), served.cert);
    await writeFile(join(folder, "tls.key"), served.key);
    const settings = { tokenBinding: "Certificate", tls: { certFile: "tls.crt", keyFile: "tls.key" } };
    const cnf = { "x5t#S256": createHash("sha256").update(new X509Certificate(own.cert).raw).digest("base64url") };
    const environment = {
      HELIOGRAPH_DATA: installation.data,
      HELIOGRAPH_NATS_SERVER: await resolveTool("nats-server"),
    };
    const { line, token } = await start(installation.folder, "embedded", environment, { settings, cnf });
    expect(line.url).toMatch(/^https:/u);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const post = { method: "POST", ca: authority.cert, headers, body: eventText("evt-tls") };
    expect(await askHttps(`${line.url}/events`, post)).toMatchObject({ status: 401, body: { code: "token_invalid" } });
    expect(await askHttps(`${line.url}/events`, { ...post, client: own })).toMatchObject({ status: 202 });
    await delivered("evt-tls");
  });

  test.each([
    ["is missing", "nowhere", /^heliograph: the configuration .*nowhere cannot be read: ENOENT/u],
    ["is a file", "partner.yaml", /^heliograph: the configuration .*partner\.yaml is a file; name a folder/u],
  ])("ends with 3 and a sentence when the configuration %s", async (_name, name, sentence) => {
    await installation.write("partner.yaml", partnerText("acme", partner.url));
    const program = startProgram(["runtime", "--config", join(installation.folder, name), "--nats", "embedded"]);
    expect(await program.ended()).toMatchObject({ code: 3, stderr: expect.stringMatching(sentence) });
  });
});
