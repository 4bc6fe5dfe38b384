import { afterAll, beforeAll, expect, test } from "vitest";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { configOf, eventBytes, partnerConfig, startEngine, streamsOf } from "../engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(async () => server.stop());

const timeoutMs = 20_000;

test("an address that the guard refuses is shown only in the log and to administrators", async ({ onTestFinished }) => {
  const partner = partnerConfig("one", "http://localhost:9/webhooks/v1/{domain}", {
    retry: { scheduleSeconds: [1], maxAgeSeconds: 1, jitterPercent: 0 },
  });
  const config = configOf({ ...partner, networks: { allowCidrs: [], allowPlaintext: true } });
  const { engine, ingest, lines, stop } = await startEngine(server.url, config, { settings: streamsOf("fd") });
  onTestFinished(stop);
  await ingest(eventBytes("e-1"));
  const attempted = async (view: { readonly showsInternals?: boolean; readonly partners?: readonly string[] }) => {
    const attempt = (await engine.history.event("e-1", ["acme"], view))?.deliveries[0]?.attempts[0];
    return attempt === undefined ? undefined : JSON.stringify(attempt);
  };
  const told = await waitFor(() => attempted({}), { timeoutMs, what: "an attempt" });
  const address = /127\.0\.0\.1|::1/u;
  expect(told).toContain('"reason":"guard"');
  expect(told).not.toMatch(/127\.0\.0\.1|::1|localhost|pod-1/u);
  // The partner alone knows its path.
  const toPartner = (await attempted({ partners: ["default/one"] })) ?? "";
  expect([toPartner, told].map((text) => text.includes(String.raw`\n/webhooks/v1/payout\n`))).toEqual([true, false]);
  const withoutText = (text: string): string => text.replace(/"canonical":"[^"]*","canonical_reason":[^,]*/u, "");
  expect(withoutText(toPartner)).toBe(withoutText(told));
  expect(toPartner).not.toMatch(/127\.0\.0\.1|::1|localhost|pod-1/u);
  expect(await attempted({ showsInternals: true })).toMatch(address);
  expect(await attempted({ showsInternals: true })).toContain('"pod":"pod-1"');
  const logged = lines.filter(({ message }) => message === "attempt").map(({ fields }) => String(fields["detail"]));
  expect(logged[0]).toMatch(address);
});
