import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { createNatsOperator } from "../../../support/nats-operator.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";
import { mountSecret, type MountedSecret } from "../../../support/tls/mounted-secret.ts";
import { waitFor } from "../../../support/wait.ts";

const timeoutMs = 20_000;

let folder: TemporaryFolder;
let ends: (() => Promise<void>)[];

beforeEach(async () => {
  folder = await temporaryFolder("auth");
  ends = [() => folder.remove()];
});
afterEach(async () => {
  for (const end of ends.toReversed()) await end();
});

async function mounted(files: Readonly<Record<string, string>>): Promise<MountedSecret> {
  const path = join(folder.path, "secret");
  await mkdir(path);
  return mountSecret(path, files);
}

async function serverOf(config: string): Promise<NatsServerHandle> {
  const server = await startNatsServer({ config });
  ends.push(() => server.stop());
  return server;
}

interface Line {
  readonly text: string;
  readonly user?: string;
  readonly reason?: string;
}

/** A connection with the credentials of a path, and its log. */
async function connected(server: NatsServerHandle, auth: string) {
  const lines: Line[] = [];
  const note = (fields: object, text: string): void => void lines.push({ ...fields, text });
  const handle = await connectNats({ servers: [server.url], auth }, Date.now, { info: note, warn: note });
  ends.push(() => handle.drain());
  const untilLogged = (text: string): Promise<Line> =>
    waitFor(() => lines.find((line) => line.text === text), { timeoutMs, what: text });
  return { handle, lines, untilLogged };
}

const hasJetStream = async ({ requests }: NatsConnectionHandle): Promise<boolean> =>
  (await requests.request("$JS.API.INFO", "")).length > 0;

describe("a server with an operator", () => {
  test("accepts a file of nsc, a renewed one, and a JWT with its key", async () => {
    const operator = createNatsOperator();
    const server = await serverOf(operator.config);
    const secret = await mounted({ "shop.creds": operator.user().creds });
    const first = await connected(server, secret.folder);
    expect(await hasJetStream(first.handle)).toBe(true);
    expect(await hasJetStream((await connected(server, join(secret.folder, "shop.creds"))).handle)).toBe(true);

    const { creds } = operator.user();
    await secret.replace({ "shop.creds": creds });
    await first.untilLogged("NATS credentials changed");
    expect(first.handle.hasPendingCredentials()).toBe(false);
    const { jwt, nkey } = operator.user();
    await secret.replace({ jwt, nkey });
    await waitFor(() => first.lines.filter(({ text }) => text === "NATS credentials changed").length === 2, {
      timeoutMs,
      what: "the JWT",
    });
    expect(await hasJetStream(first.handle)).toBe(true);
  });

  test("accepts a file that is renewed after the JWT has ended", async () => {
    const operator = createNatsOperator();
    const server = await serverOf(operator.config);
    const lifetimeSeconds = 2;
    const ending = operator.user(Math.floor(Date.now() / 1_000) + lifetimeSeconds);
    const secret = await mounted({ "shop.creds": ending.creds });
    const { handle, untilLogged } = await connected(server, secret.folder);
    const ended = await untilLogged("NATS rejected the credentials of the connection");
    expect(ended.reason).toMatch(/expired/iu);
    const unreachable = await untilLogged("NATS unreachable, reconnecting");
    // The server may accept a JWT within its last second, and ends the connection.
    expect(unreachable.reason).toMatch(/^(?:Authorization Violation|User Authentication Expired)$/u);
    await secret.replace({ "shop.creds": operator.user().creds });
    const isRenewed = async (): Promise<boolean> => !handle.hasPendingCredentials() && (await hasJetStream(handle));
    await expect(waitFor(isRenewed, { timeoutMs, what: "a connection" })).resolves.toBe(true);
  });

  test("refuses a user of another account, with a sentence", async () => {
    const server = await serverOf(createNatsOperator().config);
    const stranger = createNatsOperator().user();
    const secret = await mounted({ "shop.creds": stranger.creds });
    const error = await connectNats({ servers: [server.url], auth: secret.folder }).catch(String);
    expect(error).toBe(`Error: cannot connect to NATS at ${server.url}: Authorization Violation`);
  });
});

test("a key replaces another one while the server knows both, and reasons have no secret", async () => {
  const keys = [1, 2, 3].map(() => nkeys.createUser());
  const [one = nkeys.createUser(), two = one, unknown = one] = keys;
  const seed = (key: typeof one): string => Buffer.from(key.getSeed()).toString();
  const config = (...known: readonly (typeof one)[]): string => {
    const users = known.map((key) => `{ nkey: ${key.getPublicKey()} }`);
    return `accounts { A { jetstream: enabled, users: [ ${users.join(", ")} ] } }`;
  };
  const server = await serverOf(config(one));
  const secret = await mounted({ nkey: seed(one) });
  const { handle, lines, untilLogged } = await connected(server, secret.folder);
  await secret.replace({ nkey: seed(unknown) });
  const refused = await untilLogged("NATS rejected the new credentials, previous credentials kept");
  expect(refused).toMatchObject({ user: unknown.getPublicKey(), reason: "Authorization Violation" });
  expect([handle.hasPendingCredentials(), await hasJetStream(handle)]).toEqual([true, true]);
  await secret.replace({ nkey: "cut" });
  const unreadable = await untilLogged("NATS credentials not readable, previous credentials kept");
  expect(unreadable.reason).toContain("begins with SU");

  await secret.replace({ nkey: seed(two) });
  await server.reload(config(one, two));
  expect((await untilLogged("NATS credentials changed")).user).toBe(two.getPublicKey());
  await server.reload(config(two));
  expect([await hasJetStream(handle), handle.hasPendingCredentials()]).toEqual([true, false]);
  for (const key of keys) expect(JSON.stringify(lines)).not.toContain(seed(key));
});
