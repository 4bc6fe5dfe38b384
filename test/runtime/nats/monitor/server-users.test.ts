import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createServerUsers, usersText } from "../../../../runtime/nats/monitor/server-users.ts";
import { temporaryFolder } from "../../../support/temp-folder.ts";
import { mountSecret } from "../../../support/tls/mounted-secret.ts";

const auth = { runtime: "p", backup: "b", system: "s" };
const changes = 200;
const hash = "$2a$11$PWIFAL8RsWyGI3jVZtO9Nu8.6jOxzxfZo7c/W0eLk017hjgUKWrhy";

describe("the users of a server", () => {
  test("have quoted passwords, and a previous user without a password that matches", () => {
    expect(usersText({ ...auth, backup: 'a"\\\n$x' })).toBe(
      [
        "# Written from the Secret; changes are lost.",
        'NATS_RUNTIME_USER: "runtime"',
        'NATS_RUNTIME_PASSWORD: "p"',
        'NATS_PREVIOUS_USER: "runtime-previous"',
        `NATS_PREVIOUS_PASSWORD: "$2a$04$${".".repeat(53)}"`,
        String.raw`NATS_BACKUP_PASSWORD: "a\"\\\x0a$x"`,
        'NATS_SYSTEM_PASSWORD: "s"',
        "",
      ].join("\n"),
    );
  });

  test("are two during a rotation", () => {
    const text = usersText({ ...auth, "runtime-user": "r2", "runtime-previous": hash });
    expect(text).toContain('NATS_RUNTIME_USER: "r2"');
    expect(text).toContain(`NATS_PREVIOUS_USER: "runtime"\nNATS_PREVIOUS_PASSWORD: "${hash}"`);
  });

  test.each([
    ["no password", { ...auth, system: "" }, "the Secret of the users has no system"],
    [
      "two of one name",
      { ...auth, "runtime-previous": "old" },
      "two users have the name runtime: give the new password",
    ],
    ["a name of another user", { ...auth, "runtime-user": "backup" }, "two users have the name backup"],
    ["a hash that the runtime cannot use", { ...auth, runtime: hash }, "the runtime needs the password itself"],
  ])("with %s are refused", (_, entries, sentence) => {
    expect(() => usersText(entries)).toThrow(sentence);
    expect(() => usersText(entries)).not.toThrow(/old|\$2a/u);
  });

  test("are those of one version of the Secret, whenever it changes", async ({ onTestFinished }) => {
    const folder = await temporaryFolder("users");
    onTestFinished(() => folder.remove());
    const version = (n: number) => ({
      ...auth,
      "runtime-user": `u${n}`,
      runtime: `p${n}`,
      "runtime-previous-user": `u${n - 1}`,
      "runtime-previous": `p${n - 1}`,
    });
    const secret = await mountSecret(folder.path, version(1));
    const usersFile = join(folder.path, "users.conf");
    const users = createServerUsers({ authFolder: folder.path, usersFile }, pino({ level: "silent" }));
    const mounted = { version: 1 };
    const changing = (async () => {
      while (mounted.version < changes) await secret.replace(version((mounted.version += 1)));
    })();
    while (mounted.version < changes) {
      await users.write();
      const numbers = [...(await readFile(usersFile, "utf8")).matchAll(/"[up](?<n>\d+)"/gu)];
      const [first = 0, ...others] = numbers.map(({ groups }) => Number(groups?.["n"]));
      expect(others).toEqual([first, first - 1, first - 1]);
    }
    await changing;
  });
});
