import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RuntimeConfig } from "../../crds/config.ts";
import { createCertificateAuthority } from "../support/tls/certificate-authority.ts";
import { freePort } from "../support/free-port.ts";
import { startProgram, type Program, type ReadyLine } from "../support/heliograph-process.ts";
import { listenOnLoopback } from "../support/loopback.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { makeIssuer, signToken, type TestIssuer } from "../support/tokens.ts";
import { stallMsMax, waitFor } from "../support/wait.ts";
import type { Certificate } from "../support/tls/x509.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../support/webhook-partner.ts";
import { startShardCluster, type ShardCluster } from "../runtime/config/shard-cluster.ts";
import { configOf, corrupted, secretOf, shardSecrets } from "../runtime/config/shard-secrets.ts";
import { eventText, get, postEvent } from "./installation.ts";

const patience = { timeoutMs: 20_000, pollMs: 10 };
const configzToken = "z".repeat(43);

let cluster: ShardCluster;
let nats: NatsServerHandle;
let partner: WebhookPartnerServer;
let folder: TemporaryFolder;
let issuer: TestIssuer;
let programs: Program[];
let revision = 0;
let status = 200;

beforeAll(async () => {
  cluster = await startShardCluster();
  nats = await startNatsServer();
  folder = await temporaryFolder("runtime");
  issuer = await makeIssuer("https://issuer.example");
  await writeFile(join(folder.path, "keys.json"), JSON.stringify({ keys: [issuer.publicJwk] }));
  const settings = { issuers: [{ issuer: issuer.issuer, audiences: ["heliograph"], jwksFile: "keys.json" }] };
  await writeFile(join(folder.path, "settings.json"), JSON.stringify(settings));
});

afterAll(async () => {
  await folder.remove();
  await nats.stop();
  await cluster.stop();
});

beforeEach(async () => {
  programs = [];
  status = 200;
  partner = await startWebhookPartner(() => ({ status }));
  await write(acme());
});

afterEach(async () => {
  for (const program of programs) {
    program.signal("SIGKILL");
    await program.ended();
  }
  await partner.close();
});

/** A partner that wants everything; the timeout tells versions apart. */
const acme = (timeoutSeconds = 2, name = "acme"): RuntimeConfig =>
  configOf({
    [name]: {
      changes: {
        "endpoint.url": partner.url,
        "endpoint.timeoutSeconds": timeoutSeconds,
        "subscriptions[0].types": ["**"],
        "subscriptions[0].tenants": ["*"],
        networks: { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true },
      },
    },
  });

/** The same partners at another endpoint, which is trusted by and shown what these PEM texts say. */
function withCertificate(
  config: RuntimeConfig,
  url: string,
  { ca, cert, key }: Certificate & { readonly ca: string },
): RuntimeConfig {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const [caId, certId, keyId] = [
    "default/acme-ca/ca.crt",
    "default/acme-tls/tls.crt",
    "default/acme-tls/tls.key",
  ] as const;
  const tls = { ca: caId, client: { certificate: certId, key: keyId } };
  const retry = { scheduleSeconds: Array.from({ length: 20 }, () => 1), maxAgeSeconds: 3_600, jitterPercent: 0 };
  const partners = config.partners.map((one) => ({ ...one, retry, endpoint: { ...one.endpoint, url, tls } }));
  return {
    ...config,
    partners,
    material: { ...config.material, [caId]: base64(ca), [certId]: base64(cert), [keyId]: base64(key) },
  };
}

async function write(config: RuntimeConfig): Promise<void> {
  revision += 1;
  await cluster.apply(shardSecrets(config, { revision, token: configzToken }).values());
}

async function launch(flags: readonly string[] = [], adminPort = 0): Promise<Program> {
  const environment = {
    HELIOGRAPH_CONFIG: "kubernetes",
    HELIOGRAPH_KUBECONFIG: await cluster.kubeconfig(),
    HELIOGRAPH_SHARDS: "2",
    HELIOGRAPH_KEY_SHARDS: "1",
    HELIOGRAPH_NATS: nats.url,
    HELIOGRAPH_SETTINGS: join(folder.path, "settings.json"),
    HELIOGRAPH_HOST: "127.0.0.1",
    HELIOGRAPH_PORT: "0",
    HELIOGRAPH_ADMIN_PORT: String(adminPort),
    HELIOGRAPH_POD_NAME: "runtime-0",
    HELIOGRAPH_UNREADY_SECONDS: "1",
  };
  const program = startProgram(["runtime", ...flags], { environment });
  programs.push(program);
  return program;
}

async function start(...flags: string[]): Promise<{ readonly program: Program; readonly line: ReadyLine }> {
  const program = await launch(flags);
  return { program, line: await program.ready() };
}

function token(): Promise<string> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const scope = "events:write webhooks:read";
  return signToken(issuer, {
    iss: issuer.issuer,
    aud: "heliograph",
    sub: "shop",
    exp: nowSeconds + 600,
    scope,
    tenants: ["*"],
  });
}

const configz = async (line: ReadyLine, query = "") =>
  (await get(`${line.admin_url}/configz${query}`, configzToken)).body;
const delivered = (eventId: string) =>
  waitFor(() => partner.of(eventId)[0], { ...patience, what: `the delivery of ${eventId}` });

describe("heliograph runtime --config kubernetes", () => {
  test("delivers an event by its shards, and reports the applied configuration to the operator", async () => {
    const { line } = await start();
    expect((await postEvent(line.url, await token(), eventText("evt-1"))).status).toBe(202);
    expect((await delivered("evt-1")).headers).toMatchObject({ "x-signature": expect.stringMatching(/^v1=/u) });
    expect(await configz(line)).toMatchObject({
      pod: "runtime-0",
      ready: true,
      hash: line.config_hash,
      shards: { "config-00": { revision }, "config-01": { revision }, "keys-00": { revision } },
      errors: [],
      marks: [],
    });
    expect((await get(`${line.admin_url}/configz`)).status).toBe(401);
  });

  test("applies an edit at once, without a restart, and a long poll reports it", async () => {
    const { line } = await start();
    const { version } = await configz(line);
    const polled = configz(line, `?wait=30&after=${String(version)}`);
    const other = await startWebhookPartner();
    const moved = acme(2);
    await write({
      ...moved,
      partners: moved.partners.map((one) => ({
        ...one,
        generation: 2,
        specDigest: "moved",
        endpoint: { ...one.endpoint, url: other.url },
      })),
    });
    const report = await polled;
    expect(report["version"]).not.toBe(version);
    await waitFor(
      async () =>
        Object.values((await configz(line))["shards"] as Record<string, { revision: number }>).every(
          (shard) => shard.revision === revision,
        ),
      { ...patience, what: "all shards" },
    );
    await postEvent(line.url, await token(), eventText("evt-2"));
    await waitFor(() => other.of("evt-2").length > 0, { ...patience, what: "the delivery to the new endpoint" });
    expect(partner.of("evt-2")).toEqual([]);
    // A pod that ends before it settled this would leave it to the next test's pod.
    const history = async () => (await get(`${line.url}/webhooks/events/evt-2`, await token())).body;
    await waitFor(async () => JSON.stringify(await history()).includes('"delivered"'), {
      ...patience,
      what: "its end",
    });
    await other.close();
  });

  test("shows the client certificate that its Secret holds now, seconds after the edit (Webhook Event Delivery §5)", async () => {
    const [ours, theirs] = [
      createCertificateAuthority("authority of the sender"),
      createCertificateAuthority("authority of the partner"),
    ];
    const took: string[] = [];
    const identity = theirs.issue({ commonName: "partner", names: ["127.0.0.1"] });
    const listening = createServer(
      { ...identity, ca: ours.cert, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        took.push(String(request.headers["x-event-id"]));
        request.resume().once("end", () => response.writeHead(200).end());
      },
    );
    const loopback = await listenOnLoopback(listening);
    const showing = ({ cert, key }: Certificate): RuntimeConfig =>
      withCertificate(acme(), `https://127.0.0.1:${loopback.port}/webhooks/v1/x`, { ca: theirs.cert, cert, key });
    await write(showing(theirs.issue({ commonName: "a stranger" })));
    const { line } = await start();
    await postEvent(line.url, await token(), eventText("evt-tls"));
    const reason = async () => JSON.stringify((await get(`${line.url}/webhooks/events/evt-tls`, await token())).body);
    await waitFor(async () => (await reason()).includes("client_certificate"), { ...patience, what: "the refusal" });
    await write(showing(ours.issue({ commonName: "heliograph" })));
    await waitFor(() => took.length > 0, { ...patience, what: "the delivery with the new certificate" });
    expect(took).toEqual(["evt-tls"]);
    await loopback.close();
  });

  test("reports a corrupt shard and goes on delivering", async () => {
    const { line } = await start();
    const secrets = shardSecrets(acme(), { revision: revision + 1, token: configzToken });
    await cluster.apply(["config-00", "config-01"].map((name) => corrupted(secretOf(secrets, name))));
    const report = await waitFor(
      async () => {
        const body = await configz(line);
        return JSON.stringify(body["shards"]).includes("cannot be read") && body;
      },
      { ...patience, what: "the error on /configz" },
    );
    expect(report).toMatchObject({ ready: true, shards: { "config-00": { revision, error: expect.any(String) } } });
    await postEvent(line.url, await token(), eventText("evt-3"));
    expect((await delivered("evt-3")).attempt).toBe(1);
  });

  test("marks a partner that answers 410 until its specification changes (Webhook Event Delivery §7)", async () => {
    await write(acme(2, "gone"));
    const { line } = await start();
    status = 410;
    await postEvent(line.url, await token(), eventText("evt-4"));
    const marks = async () => (await configz(line))["marks"] as readonly object[];
    await waitFor(async () => (await marks()).length > 0, { ...patience, what: "the mark" });
    expect(await marks()).toMatchObject([
      { kind: "WebhookPartner", name: "gone", uid: "uid-gone", generation: 1, reason: "PartnerDisabled" },
    ]);
    status = 200;
    await write(acme(3, "gone"));
    await waitFor(async () => (await marks()).length === 0, { ...patience, what: "the mark to be lifted" });
    await postEvent(line.url, await token(), eventText("evt-5"));
    expect((await delivered("evt-5")).attempt).toBe(1);
  });

  test("is alive and not ready, and reports why, until every shard is there and NATS is", async () => {
    await cluster.kubectl("delete", "secret", "heliograph-keys-00");
    const [adminPort, natsPort] = [await freePort(), await freePort()];
    const program = await launch(["--nats", `nats://127.0.0.1:${natsPort}`], adminPort);
    const admin = `http://127.0.0.1:${adminPort}`;
    const readyz = async () => JSON.stringify((await get(`${admin}/readyz`)).body);
    await waitFor(
      async () =>
        (await readyz()).includes("2 of 3 shards applied; shop/heliograph-keys-00: the Secret does not exist"),
      { ...patience, what: "the missing shard to be named" },
    );
    expect((await get(`${admin}/healthz`)).status).toBe(200);
    await write(acme());
    await waitFor(async () => (await readyz()).includes("cannot connect to NATS"), {
      ...patience,
      what: "NATS to be named",
    });
    const late = await startNatsServer({ port: natsPort });
    const line = await program.ready();
    expect((await get(`${line.admin_url}/readyz`)).status).toBe(200);
    program.signal("SIGTERM");
    expect((await program.ended()).code).toBe(0);
    await late.stop();
  });

  test("turns /readyz red first after SIGTERM, takes requests for a while more, and ends with 0", async () => {
    const { program, line } = await start();
    const poll = configz(line, `?wait=30&after=${String((await configz(line))["version"])}`);
    program.signal("SIGTERM");
    expect(await poll).toMatchObject({ ready: false });
    expect(await get(`${line.admin_url}/readyz`)).toMatchObject({
      status: 503,
      body: { parts: expect.arrayContaining([{ name: "process", ok: false, detail: "draining" }]) },
    });
    expect((await postEvent(line.url, await token(), eventText("evt-6"))).status).toBe(202);
    expect(await program.ended()).toMatchObject({ code: 0 });
  });

  test("ends at once on SIGTERM while it waits for its shards", async () => {
    await cluster.kubectl("delete", "secret", "heliograph-config-00");
    const adminPort = await freePort();
    const program = await launch(["--unready-seconds", "30"], adminPort);
    await waitFor(async () => (await get(`http://127.0.0.1:${adminPort}/readyz`)).status === 503, {
      ...patience,
      what: "the admin port",
    });
    const startedMs = performance.now();
    program.signal("SIGTERM");
    expect(await program.ended()).toMatchObject({ code: 0, stdout: "" });
    expect(performance.now() - startedMs).toBeLessThan(stallMsMax);
  });

  test("starts from copies while the API server is away", async () => {
    const cache = join(folder.path, "cache");
    const { program } = await start("--config-cache", cache);
    program.signal("SIGTERM");
    await program.ended();
    await cluster.kube.stopServer();
    const { line } = await start("--config-cache", cache);
    await postEvent(line.url, await token(), eventText("evt-7"));
    expect((await delivered("evt-7")).attempt).toBe(1);
    await cluster.kube.startServer();
    await write(acme(9));
    await waitFor(async () => JSON.stringify((await configz(line))["shards"]).includes(`"revision":${revision}`), {
      ...patience,
      what: "what was written after",
    });
    expect((await configz(line))["errors"]).toEqual([]);
  });

  test("ends with 10 and a sentence outside of a pod without a kubeconfig", async () => {
    const program = startProgram(["runtime", "--config", "kubernetes", "--nats", nats.url], {
      environment: { KUBERNETES_SERVICE_HOST: "" },
    });
    expect(await program.ended()).toMatchObject({
      code: 10,
      stderr: expect.stringMatching(
        /^heliograph: the API server cannot be used: no kubeconfig and no service account found/u,
      ),
    });
  });
});
