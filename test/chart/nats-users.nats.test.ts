import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { connectNats } from "../../runtime/nats/connection/connect.ts";
import { startMonitor } from "../../runtime/nats/monitor/monitor.ts";
import { secretOf } from "../runtime/nats/monitor/monitored-server.ts";
import { freePort } from "../support/free-port.ts";
import { startNatsServer, type NatsServerHandle } from "../support/nats-server.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { createCertificateAuthority } from "../support/tls/certificate-authority.ts";
import { mountSecret, type MountedSecret } from "../support/tls/mounted-secret.ts";
import { waitFor } from "../support/wait.ts";
import { rendered } from "./judges.ts";

const patience = { timeoutMs: 20_000 };
const checkMs = 50;
/** The password of user `backup` is `third, with $ and "`. */
const backupHash = "$2b$05$abcdefghijklmnopqrstuuG7cZFecxb/5GUHDm1cmeP6fZ.ahCC4m";

let folder: TemporaryFolder;
let secret: MountedSecret;
let server: NatsServerHandle;
let ca: string;
const ends: (() => Promise<void>)[] = [];

/** The chart's `nats.conf` with the places of this test. */
async function natsConf(places: Readonly<Record<string, string>>): Promise<string> {
  const manifest = await rendered("helm", [], ["templates/nats/config.yaml"]);
  const { data } = parse(manifest) as { readonly data: Readonly<Record<string, string>> };
  return Object.entries(places).reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replaceAll(from, to);
  }, data["nats.conf"] ?? "");
}

const first = { runtime: "first", backup: backupHash, system: "s" };

beforeAll(async () => {
  folder = await temporaryFolder("users");
  const path = (name: string): string => join(folder.path, name);
  const authority = createCertificateAuthority("first");
  ca = authority.cert;
  await Promise.all(["tls", "auth", "run"].map((name) => mkdir(path(name))));
  await mountSecret(path("tls"), secretOf(authority));
  secret = await mountSecret(path("auth"), first);
  const monitorPort = await freePort();
  const config = await natsConf({
    "../../var/run/nats": `../${basename(folder.path)}/run`,
    "/var/run/nats": path("run"),
    "/etc/nats-tls": path("tls"),
    "127.0.0.1:8222": `127.0.0.1:${monitorPort}`,
    "/data": path("data"),
    $POD_NAME: "pod-0",
  });
  const monitor = await startMonitor(
    {
      monitor: `http://127.0.0.1:${monitorPort}`,
      tlsFolder: path("tls"),
      pidFile: path("run/nats.pid"),
      users: { authFolder: path("auth"), usersFile: path("run/users.conf") },
      dataFolder: folder.path,
      port: 0,
      host: "127.0.0.1",
      checkMs,
    },
    pino({ level: "silent" }),
  );
  ends.push(() => monitor.stop());
  server = await startNatsServer({ config });
  ends.push(() => server.stop());
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
  await folder.remove();
});

/** True when the server accepts the user now. */
async function accepts(user: string, password: string): Promise<boolean> {
  const servers = [`tls://localhost:${server.port}`];
  const handle = await connectNats({ servers, user, password, tls: { ca } }).catch((error: unknown) => {
    if (!String(error).includes("Authorization Violation")) throw error;
  });
  await handle?.drain();
  return handle !== undefined;
}

const untilAccepted = (user: string, password: string) =>
  waitFor(() => accepts(user, password), { ...patience, what: `the user ${user} with ${password}` });

/** What URLs, YAML, shells and NATS's configuration read as something else. */
const passwords = [
  "Ab/Cd+Ef=",
  "abc#def",
  "p@s/s: 100%",
  " two words ",
  `"quoted" 'too' \\x41 \\`,
  "$NATS_SYSTEM_PASSWORD",
  "1e3",
  "no",
  "{ [ , ; } // é",
  "tab\tbell\u0007",
];

describe("the users of the chart's NATS", () => {
  test("are those of a Secret that is as old as the release, with the user of the rotation closed", async () => {
    expect(await accepts("runtime", "first")).toBe(true);
    expect(await accepts("backup", 'third, with $ and "')).toBe(true);
    for (const [user, password] of [
      ["runtime-previous", ""],
      ["runtime-previous", "."],
      ["runtime", "first "],
      ["backup", backupHash],
    ] as const)
      expect(await accepts(user, password), `${user} ${password}`).toBe(false);
  });

  test("have every password as it is in the Secret, the new and the previous one, until the next rotation", async () => {
    let [user, password] = ["runtime", "first"];
    for (const [index, next] of passwords.entries()) {
      const nextUser = `runtime-${index}`;
      const previous = { "runtime-previous-user": user, "runtime-previous": password };
      await secret.replace({ ...first, runtime: next, "runtime-user": nextUser, ...previous });
      await untilAccepted(nextUser, next);
      expect(await accepts(user, password), `previous: ${password}`).toBe(true);
      [user, password] = [nextUser, next];
    }
    await secret.replace({ ...first, runtime: password, "runtime-user": user });
    await waitFor(async () => !(await accepts("runtime-8", passwords[8] ?? "")), { ...patience, what: "the end" });
    expect(await accepts(user, password)).toBe(true);
  });

  test("stay while the Secret cannot be used", async () => {
    const last = `runtime-${passwords.length - 1}`;
    await secret.replace({ runtime: "x", backup: "b" });
    // The next usable one shows that the monitor has looked at this one.
    await secret.replace({ ...first, runtime: backupHash });
    expect(await accepts(last, passwords.at(-1) ?? "")).toBe(true);
    await secret.replace({ ...first, runtime: "last" });
    await untilAccepted("runtime", "last");
  });
});
