import type { Preview } from "../../../api/previews.ts";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../../support/heliograph-process.ts";
import { startWebhookPartner } from "../../support/webhook-partner.ts";
import { eventText, makeInstallation, partnerText } from "../installation.ts";

test("diff says what an edit does to a running product, by events that it stored", async ({ onTestFinished }) => {
  const partner = await startWebhookPartner();
  onTestFinished(() => partner.close());
  const installation = await makeInstallation();
  onTestFinished(() => installation.remove());
  await installation.write("acme.yaml", partnerText("acme", partner.url));
  const { line } = await installation.start();
  const token = await installation.token({ scope: "events:write admin:preview" });
  for (const [at, type] of ["payout.processed", "kyc.done", "payout.failed"].entries()) {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const body = eventText(`evt-${at}`, { type });
    expect((await fetch(`${line.url}/events`, { method: "POST", headers, body })).status).toBe(202);
  }
  const root = dirname(installation.folder);
  const edited = join(root, "edited");
  await mkdir(edited);
  const write = (types: readonly string[]): Promise<void> =>
    writeFile(join(edited, "acme.yaml"), partnerText("acme", partner.url, { "subscriptions[0].types": types }));
  const environment = { HELIOGRAPH_TOKEN: token, HELIOGRAPH_URL: line.url };
  const diff = (...args: string[]) => runProgram(["diff", ...args], { cwd: root, environment });

  await write(["**"]);
  expect(await diff("./edited", "--since", "24h")).toMatchObject({ code: 0, stdout: "No difference.\n" });
  await write(["payout.*"]);
  const text = await diff("./edited", "--since", "24h");
  expect(text.code).toBe(1);
  expect(text.stdout).toContain("3 recorded events: 3 → 2 deliveries, 0 → 1 events without a partner.");
  expect(text.stdout).toContain("-evt-1");
  const json = JSON.parse((await diff("./edited", "-o", "json")).stdout) as Preview;
  expect(json).toMatchObject({ status: "completed", events: null });
  expect(json.resources.changed.map(({ object }) => object)).toEqual(["WebhookPartner/default/acme"]);

  const reader = await installation.token({ scope: "webhooks:read" });
  const refused = await runProgram(["diff", edited], { environment: { ...environment, HELIOGRAPH_TOKEN: reader } });
  expect(refused).toMatchObject({ code: 11, stdout: "" });
  expect(refused.stderr).toContain("scope_missing");
});
