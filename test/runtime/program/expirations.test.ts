import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Registry } from "prom-client";
import { beforeEach, describe, expect, test } from "vitest";
import { Expirations } from "../../../runtime/program/expirations.ts";
import { createCertificateAuthority } from "../../support/tls/certificate-authority.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";
import { configOf, partnerConfig } from "../webhooks/engine-fixture.ts";

const yearSeconds = 365 * 86_400;
const hourSeconds = 3_600;
const nowMs = Date.UTC(2026, 0, 1);
const key = { id: "k1", material: "m" };
const base64 = (text: string): string => Buffer.from(text).toString("base64");
/** End of a certificate that an authority of this time issues, in seconds. */
const endOf = (startMs: number): number => startMs / 1_000 - hourSeconds + yearSeconds;

let registry: Registry;
let expirations: Expirations;

beforeEach(() => {
  registry = new Registry();
  expirations = new Expirations(registry, () => nowMs);
});

async function series(): Promise<readonly string[]> {
  const prefix = "heliograph_expiry_timestamp_seconds";
  const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith(`${prefix}{`));
  return lines.map((line) => line.slice(prefix.length));
}

const withKeys = (name: string, ...endsMs: readonly number[]) => {
  const old = endsMs.map((notAfterMs, index) => ({ id: `old-${index}`, material: "m", notAfterMs }));
  return partnerConfig(name, "https://one.example/v1", { signing: { scheme: "HmacV1", keys: [key, ...old] } });
};

describe("the ends of keys and certificates", () => {
  test("are those of keys with a notAfter that has not come", async () => {
    expirations.apply(configOf(withKeys("one", nowMs + 5_000, nowMs - 1)));
    expect(await series()).toEqual([`{kind="signing_key",partner="default/one",key="old-0"} ${nowMs / 1_000 + 5}`]);
    expirations.apply(configOf(withKeys("one")));
    expect(await series()).toEqual([]);
  });

  test("are those of an endpoint's client certificate and of the last authority in its bundle, past or not", async () => {
    const [old, young] = [nowMs - 2 * yearSeconds * 1_000, nowMs].map((atMs) => createCertificateAuthority("a", atMs));
    if (old === undefined || young === undefined) throw new Error("no authority");
    const partner = withKeys("one");
    const tls = { ca: "ca", client: { certificate: "crt", key: "key" } };
    const { material, ...config } = configOf({ ...partner, endpoint: { ...partner.endpoint, tls } });
    const chain = old.issue({ commonName: "ours" }).cert + young.cert;
    expirations.apply({ ...config, material: { ...material, ca: base64(old.cert + young.cert), crt: base64(chain) } });
    expect(await series()).toEqual([
      `{kind="endpoint_client",partner="default/one",key=""} ${endOf(nowMs - 2 * yearSeconds * 1_000)}`,
      `{kind="endpoint_ca",partner="default/one",key=""} ${endOf(nowMs)}`,
    ]);
  });

  test("are those of files at the time of the scrape; a file without a certificate has none", async () => {
    const folder = await temporaryFolder("expirations");
    const path = join(folder.path, "tls.crt");
    const issued = (atMs: number): string => createCertificateAuthority("a", atMs).issue({ commonName: "s" }).cert;
    expirations.addFiles([
      { kind: "server", path },
      { kind: "nats_ca", path: undefined },
    ]);
    await writeFile(path, issued(nowMs));
    expect(await series()).toEqual([`{kind="server",partner="",key=""} ${endOf(nowMs)}`]);
    await writeFile(path, issued(nowMs + 1_000));
    expect(await series()).toEqual([`{kind="server",partner="",key=""} ${endOf(nowMs + 1_000)}`]);
    await writeFile(path, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    expect(await series()).toEqual([]);
    await rm(path);
    expect(await series()).toEqual([]);
    await folder.remove();
  });

  test("are bounded: of too many the first ones are shown", async () => {
    const ends = Array.from({ length: 130 }, (_, index) => nowMs + (130 - index) * 1_000);
    expirations.apply(configOf(...ends.map((atMs, index) => withKeys(`p-${index}`, atMs))));
    const shown = await series();
    expect(shown).toHaveLength(100);
    expect(shown[0]).toContain('partner="default/p-129"');
  });
});
