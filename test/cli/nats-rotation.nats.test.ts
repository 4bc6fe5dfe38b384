import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { waitFor } from "../support/wait.ts";
import { startWebhookPartner, type WebhookPartnerServer } from "../support/webhook-partner.ts";
import {
  eventText,
  get,
  makeInstallation,
  partnerText,
  postEvent,
  type Installation,
  type Running,
} from "./installation.ts";

const patience = { timeoutMs: 20_000, pollMs: 10 };

/** A user with its password, and the password as the server has it. */
interface User {
  readonly name: string;
  readonly password: string;
  readonly stored?: string;
}
const users: readonly User[] = [
  { name: "runtime-1", password: "Ab/Cd+Ef=" },
  { name: "runtime-2", password: "p@s/s#: $HOME 'a' \"b\" 100%" },
  // The server has the hash only.
  {
    name: "runtime-3",
    password: 'third, with $ and "',
    stored: "$2b$05$abcdefghijklmnopqrstuuG7cZFecxb/5GUHDm1cmeP6fZ.ahCC4m",
  },
];

const serverConfig = (...numbers: readonly number[]): string => {
  const entries = numbers.map((number) => {
    const { name, password, stored = password } = users[number - 1] as User;
    return `{ user: ${JSON.stringify(name)}, password: ${JSON.stringify(stored)} }`;
  });
  return `accounts { HG { jetstream: enabled, users: [${entries.join(", ")}] } }`;
};

let installation: Installation;
let partner: WebhookPartnerServer;
let server: NatsServerHandle;
let auth: string;
let program: Running;

/** Writes the files as a mounted Secret changes: one after the other, so that a reader may see a mixture. */
const write = async (number: number): Promise<void> => {
  const { name, password } = users[number - 1] as User;
  await writeFile(join(auth, "username"), name);
  await writeFile(join(auth, "password"), password);
};

beforeAll(async () => {
  [installation, partner, server] = await Promise.all([
    makeInstallation(),
    startWebhookPartner(),
    startNatsServer({ config: serverConfig(1) }),
  ]);
  auth = join(installation.data, "..", "auth");
  await mkdir(auth);
  await write(1);
  await installation.write("partner.yaml", partnerText("acme", partner.url));
  program = await installation.start("--nats", server.url, "--nats-auth", auth);
});
afterAll(async () => {
  await installation.remove();
  await Promise.all([partner.close(), server.stop()]);
});

/** Waits for lines about a user. */
const untilLogged = (msg: string, number: number, count = 1) => {
  const { name } = users[number - 1] as User;
  const lines = () => program.logLines().filter((line) => line["msg"] === msg && line["user"] === name);
  return waitFor(() => lines().length >= count, { ...patience, what: `the log line: ${msg}` });
};

/** Requests begin whether earlier ones have ended or not: clients that wait would send none during an interruption. */
const sendMs = 5;
const inFlightMax = 200;
const readEvery = 5;

/** Sends events and reads them until the work is done. Returns the ids and every unexpected status. */
async function underLoad(name: string, work: () => Promise<void>) {
  const token = await installation.token();
  const ids: string[] = [];
  const faults: string[] = [];
  const running = new Set<Promise<void>>();
  const send = async (id: string, isRead: boolean): Promise<void> => {
    const { status, body } = await postEvent(program.line.url, token, eventText(id));
    if (status === 202) ids.push(id);
    else faults.push(`POST ${status} ${JSON.stringify(body)}`);
    if (!isRead) return;
    const read = await get(`${program.line.url}/webhooks/events/${id}`, token);
    if (read.status !== 200) faults.push(`GET ${read.status} ${JSON.stringify(read.body)}`);
  };
  let count = 0;
  const timer = setInterval(() => {
    if (running.size >= inFlightMax) return;
    count += 1;
    const sent: Promise<void> = send(`${name}-${count}`, count % readEvery === 0)
      .catch((error: unknown) => void faults.push(String(error)))
      .finally(() => running.delete(sent));
    running.add(sent);
  }, sendMs);
  const untilMore = async (): Promise<void> => {
    const { length } = ids;
    await waitFor(() => ids.length > length + 50, { ...patience, what: "events" });
  };
  try {
    await untilMore();
    await work();
    await untilMore();
  } finally {
    clearInterval(timer);
    await Promise.all(running);
  }
  return { ids, faults };
}

const deliveredAll = (ids: readonly string[]) =>
  waitFor(() => ids.every((id) => partner.of(id).length > 0), { ...patience, what: "all deliveries" });

describe("a rotation of the credentials of NATS under load", () => {
  test("rejects and loses nothing when the server learns of them first", async () => {
    const { ids, faults } = await underLoad("a", async () => {
      await server.reload(serverConfig(1, 2));
      await write(2);
      await untilLogged("NATS credentials changed", 2);
      await server.reload(serverConfig(2));
    });
    expect(faults).toEqual([]);
    await deliveredAll(ids);
  });

  test("rejects and loses nothing when the runtime learns of them first, and keeps what works until then", async () => {
    const { ids, faults } = await underLoad("b", async () => {
      await write(3);
      await untilLogged("NATS rejected the new credentials, previous credentials kept", 3);
      expect((await get(`${program.line.admin_url}/readyz`)).status).toBe(200);
      await server.reload(serverConfig(2, 3));
      await untilLogged("NATS credentials changed", 3);
      await server.reload(serverConfig(3));
    });
    expect(faults).toEqual([]);
    await deliveredAll(ids);
  });

  test("that the server makes at once ends with the new ones, and its log names the cause, not a secret", async () => {
    await rm(join(auth, "username"));
    await server.reload(serverConfig(1));
    await untilLogged("NATS rejected the credentials of the connection", 3);
    await untilLogged("NATS unreachable, reconnecting", 3);
    await write(1);
    await waitFor(async () => (await get(`${program.line.admin_url}/readyz`)).status === 200, {
      ...patience,
      what: "a connection",
    });
    const token = await installation.token();
    const id = "c-1";
    expect((await postEvent(program.line.url, token, eventText(id))).status).toBe(202);
    await deliveredAll([id]);
    const reasons = program.logLines().filter(({ msg }) => msg === "NATS unreachable, reconnecting");
    expect(reasons[0]).toMatchObject({ servers: server.url, reason: "Authorization Violation" });
    for (const { password } of users) expect(program.stderr()).not.toContain(JSON.stringify(password).slice(1, -1));
  });
});
