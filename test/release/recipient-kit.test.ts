import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { request } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { version } from "../../runtime/version.ts";
import { signHmacV1 } from "../../runtime/webhooks/signing/hmac-v1.ts";
import { event } from "../runtime/recipient/signed-delivery.ts";
import { freePort } from "../support/free-port.ts";
import { startServerProcess, type ServerProcess } from "../support/server-process.ts";
import { run, succeed } from "../tools/run.ts";
import { installKit, nodePrograms, writeExamples, type InstalledKit } from "./installed-kit.ts";
import { npmScope } from "./names.ts";

const root = dirname(dirname(import.meta.dirname));
const commandMsMax = 60_000;
const setUpMsMax = 120_000;
const archiveBytesMax = 60_000;
const signingKey = "a-signing-key-of-forty-characters-000000";
const programs = await nodePrograms();

let kit: InstalledKit;
let server: ServerProcess | undefined;

beforeAll(async () => {
  kit = await installKit();
  await kit.link("express");
  await kit.link("fastify");
}, setUpMsMax);

afterEach(async () => {
  await server?.stop();
  server = undefined;
});

afterAll(async () => kit?.remove());

interface Manifest {
  readonly dependencies?: object;
  readonly exports: Readonly<Record<string, string>>;
}

describe("the npm package of the recipient kit", () => {
  test("is small and needs no other package", async () => {
    const manifest = JSON.parse(await readFile(join(kit.unpacked, "package.json"), "utf8")) as Manifest;
    expect(manifest).toMatchObject({ name: `${npmScope}/recipient`, version, license: "Apache-2.0" });
    expect(manifest.dependencies).toBeUndefined();
    expect(kit.archive.length).toBeLessThan(archiveBytesMax);
  });

  test(
    "is what `make kit` makes",
    async () => {
      // The packages are installed.
      await succeed("make", ["--old-file=install", "kit"], { cwd: root, timeoutMs: commandMsMax });
      const made = await readFile(join(root, "dist", `heliograph-dev-recipient-${version}.tgz`));
      expect(made.equals(kit.archive)).toBe(true);
    },
    setUpMsMax,
  );

  test(
    "has types for all of its entries",
    async () => {
      const { exports } = JSON.parse(await readFile(join(kit.unpacked, "package.json"), "utf8")) as Manifest;
      await writeFile(join(kit.path, "types.ts"), typedProgram(Object.keys(exports)));
      const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--types", "node"];
      const types = ["--typeRoots", join(root, "node_modules", "@types")];
      const tsc = join(root, "node_modules", ".bin", "tsc");
      const compiled = await run(tsc, [...flags, ...types, "types.ts"], { cwd: kit.path, timeoutMs: commandMsMax });
      expect(compiled).toMatchObject({ code: 0, stdout: "" });
    },
    setUpMsMax,
  );
});

/** A user's program that imports every entry and uses the types of some. */
function typedProgram(entries: readonly string[]): string {
  const imports = entries.map((entry, index) => `import * as e${index} from "${npmScope}/recipient${entry.slice(1)}";`);
  return `
    ${imports.join("\n")}
    import { createServer } from "node:http";
    import { sharedKey, createMemorySeenStore, type VerificationKey } from "${npmScope}/recipient";
    import { createRecipient } from "${npmScope}/recipient/node";
    import { createWebRecipient } from "${npmScope}/recipient/web";
    const keys: readonly VerificationKey[] = [sharedKey("k1", "${signingKey}")];
    const handle = async (event: e0.DeliveredEvent): Promise<void> => console.log(event.event_id);
    const options = { keys: () => keys, store: createMemorySeenStore(), handle, handlerVersion: "1" };
    createServer(createRecipient(options));
    const answer: Promise<Response> = createWebRecipient(options)(new Request("http://localhost/"));
    console.log(answer, ${entries.map((_, index) => `e${index}`).join(", ")});
  `;
}

/** Headers of a delivery that is signed now. */
function signed(body: Buffer, path: string): Record<string, string> {
  const timestamp = new Date().toISOString();
  const signature = signHmacV1(Buffer.from(signingKey), { timestamp, method: "POST", path, body });
  return { "x-signature": signature, "x-timestamp": timestamp, "content-type": "application/json" };
}

async function post(url: string, content: object, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const body = Buffer.from(JSON.stringify(content));
  const { pathname } = new URL(url);
  const response = await request(url, { method: "POST", body, headers: { ...signed(body, pathname), ...headers } });
  await response.body.dump();
  return response.statusCode;
}

/** The examples that are servers, and what only they do. */
const examples: Readonly<Record<string, (url: string) => Promise<void>>> = {
  "node.js": async (url) => {
    const reversed = { ...event, event_id: "evt_2", type: "payout.reversed" };
    expect(await post(`${url}/webhooks/v1/payout`, reversed)).toBe(422);
  },
  "express.js": async (url) => {
    const headers = { authorization: "Bearer operator" };
    const answer = await request(`${url}/webhooks/status/evt_1`, { headers });
    expect(await answer.body.json()).toMatchObject({ seen: true, handler_version: "1" });
  },
  "fastify.js": async (url) => {
    const text = await (await request(`${url}/metrics`)).body.text();
    expect(text).toContain('heliograph_recipient_deliveries_total{outcome="processed"} 1');
  },
};

describe.each(programs)("the examples of its page on Node $version", ({ path: node }) => {
  let names: readonly string[];
  beforeAll(async () => {
    names = await writeExamples(kit.path);
  });

  async function start(name: string): Promise<string> {
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const env = { PORT: String(port), SIGNING_KEY: signingKey, STATUS_TOKEN: "operator" };
    const ready = async (): Promise<boolean> => (await request(url)).statusCode > 0;
    server = await startServerProcess({ name, command: node, args: [name], cwd: kit.path, env, ready });
    return url;
  }

  test("are these", () => {
    expect(names).toEqual([...Object.keys(examples), "web.js", "order.js", "callback.js", "resync.js"]);
  });

  test.each(Object.entries(examples))(
    "receive deliveries: %s",
    async (name, check) => {
      const url = await start(name);
      const path = `${url}/webhooks/v1/payout`;
      expect([await post(path, event), await post(path, event)]).toEqual([200, 200]);
      expect(await post(path, event, { "x-signature": `v1=${"A".repeat(43)}=` })).toBe(401);
      expect(server?.log().match(/evt_1/gu)).toHaveLength(1);
      await check(url);
    },
    setUpMsMax,
  );

  test("can import every entry of the package", async () => {
    const { exports } = JSON.parse(await readFile(join(kit.unpacked, "package.json"), "utf8")) as Manifest;
    const imports = Object.keys(exports).map((entry) => `import "${npmScope}/recipient${entry.slice(1)}";`);
    await writeFile(join(kit.path, "entries.js"), imports.join("\n"));
    expect(await run(node, ["entries.js"], { cwd: kit.path, timeoutMs: commandMsMax })).toMatchObject({ code: 0 });
  });

  test("answer a Request, order events and keep the outcome of a callback", async () => {
    const body = Buffer.from(JSON.stringify(event));
    const given = { body: body.toString(), headers: signed(body, "/webhooks/v1/payout") };
    await writeFile(join(kit.path, "driver.js"), driverText(JSON.stringify(given)));
    const env = { SIGNING_KEY: signingKey };
    const output = await succeed(node, ["driver.js"], { cwd: kit.path, env, timeoutMs: commandMsMax });
    expect(output.trim().split("\n")).toEqual([
      "evt_1 payout.processed",
      JSON.stringify([200, 200]),
      JSON.stringify(["created", "processed", "processed"]),
      JSON.stringify([201, { refund: 1 }, 201, { refund: 1 }, 422]),
    ]);
  });
});

/** Uses the examples that are no servers. */
function driverText(given: string): string {
  return `
    import { POST } from "./web.js";
    import { apply } from "./order.js";
    import { refund } from "./callback.js";
    const { body, headers } = JSON.parse(${JSON.stringify(given)});
    const request = () => new Request("http://localhost/webhooks/v1/payout", { method: "POST", body, headers });
    const post = async () => (await POST(request())).status;
    console.log(JSON.stringify([await post(), await post()]));
    const payout = (event_id, ts, status) => apply({ event_id, ts, data: { payout_id: "p", status } });
    const [first, second] = ["2026-01-02T03:04:05.000Z", "2026-01-02T03:04:06.000Z"];
    console.log(JSON.stringify([
      payout("a", first, "created"), payout("b", second, "processed"), payout("a", first, "created"),
    ]));
    const known = { caller: "acme", method: "POST", target: "/refunds", headers: { "idempotency-key": "k1" } };
    const call = (text) => refund({ ...known, body: Buffer.from(text) });
    const [one, two, other] = [await call("1"), await call("1"), await call("2")];
    console.log(JSON.stringify([one.status, one.body, two.status, two.body, other.status]));
  `;
}

test.skipIf(programs.length < 2)("the examples run on an older Node where this machine has one from 20 on", () => {
  expect(programs).toHaveLength(2);
});
