import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runProgram } from "../support/heliograph-process.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../support/webhook-partner.ts";
import { eventText, get, makeInstallation, partnerText, postEvent, type Installation } from "./installation.ts";

const patience = { timeoutMs: 20_000 };

let installation: Installation;
let partner: WebhookPartnerServer;
let server: NatsServerHandle;

beforeAll(async () => {
  [installation, partner, server] = await Promise.all([
    makeInstallation(),
    startWebhookPartner(undefined, "::1"),
    startNatsServer({ host: "::1", config: 'authorization { user: "u", password: "p" }' }),
  ]);
});
afterAll(async () => {
  await installation.remove();
  await Promise.all([partner.close(), server.stop()]);
});

test("everything works where all addresses are of IPv6", async () => {
  const auth = join(installation.data, "..", "auth");
  await mkdir(auth);
  await writeFile(join(auth, "username"), "u");
  await writeFile(join(auth, "password"), "p");
  const networks = { allowCidrs: ["::1/128"], allowPlaintext: true };
  await installation.write("partner.yaml", partnerText("acme", partner.url, { networks }));
  const { line } = await installation.start("--host", "::1", "--nats", server.url, "--nats-auth", auth);
  expect(line).toMatchObject({
    url: expect.stringMatching(/^http:\/\/\[::1\]:\d+$/u),
    admin_url: expect.stringMatching(/^http:\/\/\[::1\]:\d+$/u),
    nats_url: server.url,
  });

  const token = await installation.token({ scope: "events:write webhooks:read", tenants: ["*"], partners: ["*"] });
  expect((await postEvent(line.url, token, eventText("six-1"))).status).toBe(202);
  await waitFor(() => partner.of("six-1").length > 0, { ...patience, what: "the delivery" });
  const isReady = async (): Promise<boolean> => (await get(`${line.admin_url}/readyz`)).status === 200;
  await waitFor(isReady, { ...patience, what: "a ready program" });

  const tokenFile = join(installation.data, "..", "token");
  await writeFile(tokenFile, token);
  const read = await runProgram(["events", "get", "six-1", "--url", line.url, "--token-file", tokenFile]);
  expect(read).toMatchObject({ code: 0, stderr: "" });
  expect(read.stdout).toContain("acme");
  const output = join(installation.data, "..", "bundle.tgz");
  const places = ["--admin", line.admin_url, "--nats", line.nats_url, "--nats-auth", auth, "--output", output];
  expect(await runProgram(["debug", "bundle", ...places])).toMatchObject({ code: 0 });
});
