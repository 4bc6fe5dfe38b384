import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  authenticatorOf,
  createCredentialChoice,
  readCredentials,
  userOf,
} from "../../../../runtime/nats/connection/credentials.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";

let root: TemporaryFolder;
beforeAll(async () => {
  root = await temporaryFolder("credentials");
});
afterAll(() => root.remove());

const user = nkeys.createUser();
const seed = Buffer.from(user.getSeed()).toString();
const accountSeed = Buffer.from(nkeys.createAccount().getSeed()).toString();
const jwt = "eyJ0eXAiOiJKV1QifQ.eyJzdWIiOiJVQSJ9.c2ln-_";
const creds = (eol = "\n"): string =>
  ["-----BEGIN NATS USER JWT-----", jwt, "------END NATS USER JWT------", "", "*** IMPORTANT ***", ""]
    .concat(["-----BEGIN USER NKEY SEED-----", seed, "------END USER NKEY SEED------", "", "*****", ""])
    .join(eol);
const hash = "$2a$11$PWIFAL8RsWyGI3jVZtO9Nu8.6jOxzxfZo7c/W0eLk017hjgUKWrhy";

/** The characters that URLs, shells and NATS's configuration read as something else. */
const passwords = [
  "Ab/Cd+Ef=",
  "abc#def",
  "p@s/s",
  "a:b",
  "100%",
  " two words ",
  `"quoted" 'too'`,
  "$HOME",
  "é\\n",
  "#",
];

async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const path = join(root.path, "auth");
  await rm(path, { recursive: true, force: true });
  await mkdir(path);
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(path, name), text)));
  return path;
}

describe("credentials", () => {
  test.each(passwords)("have the password %j as it is in the file", async (password) => {
    const path = await folder({ username: "u@x:/", password });
    expect(await readCredentials(path)).toEqual({ kind: "password", user: "u@x:/", password });
  });

  test.each<[string, Readonly<Record<string, string>>, object]>([
    [
      "a password alone, of the user of the chart",
      { password: "p" },
      { kind: "password", user: "runtime", password: "p" },
    ],
    ["a line break at the end", { username: "u\n", password: "p\r\n" }, { user: "u", password: "p" }],
    ["a token", { token: "t/#" }, { kind: "token", token: "t/#" }],
    ["a key", { nkey: `${seed}\n` }, { kind: "nkey", seed }],
    ["a JWT and a key", { jwt: `${jwt}\n`, nkey: seed }, { kind: "jwt", jwt, seed }],
    ["a file of nsc", { "shop.creds": creds() }, { kind: "jwt", jwt, seed }],
    ["a file of nsc from Windows", { creds: creds("\r\n") }, { kind: "jwt", jwt, seed }],
    ["other files of a Secret", { token: "t", "ca.crt": "x", "..data": "y" }, { kind: "token", token: "t" }],
  ])("are those of %s", async (_, files, credentials) => {
    expect(await readCredentials(await folder(files))).toMatchObject(credentials);
  });

  test("are those of a file of nsc that is named itself", async () => {
    const path = join(await folder({ "shop.creds": creds() }), "shop.creds");
    expect(await readCredentials(path)).toEqual({ kind: "jwt", jwt, seed });
  });

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ["nothing", {}, "and not none of them"],
    ["a user alone", { username: "u" }, "and not username"],
    ["a JWT alone", { jwt }, "and not jwt"],
    ["two kinds", { password: "secret", token: "secret" }, "and not password, token"],
    ["two files of nsc", { "a.creds": creds(), "b.creds": creds() }, "and not a.creds, b.creds"],
    ["an empty password", { password: "\n" }, "password is empty"],
    ["two lines", { password: "secret\nsecret2" }, "more than one line"],
    ["a hash", { password: hash }, "bcrypt hash, which only the server can use"],
    ["a seed of an account", { nkey: accountSeed }, "begins with SU"],
    ["no seed", { nkey: "secret" }, "begins with SU"],
    ["no JWT", { jwt: "secret", nkey: seed }, "three parts"],
    ["a cut file of nsc", { "a.creds": creds().slice(0, 150) }, "has not the JWT and the seed"],
  ])("of %s are refused without a secret", async (_, files, sentence) => {
    const error = await readCredentials(await folder(files)).then(String, (cause: unknown) => String(cause));
    expect(error).toContain(sentence);
    for (const secret of ["secret", hash, seed, accountSeed, jwt]) expect(error).not.toContain(secret);
  });

  test("sign the nonce of the server with the key, and name the user by its public key", () => {
    const auth = authenticatorOf({ kind: "jwt", jwt, seed })("nonce") as { sig: string; jwt: string; nkey: string };
    expect(auth).toMatchObject({ jwt, nkey: user.getPublicKey() });
    expect(user.verify(Buffer.from("nonce"), Buffer.from(auth.sig, "base64url"))).toBe(true);
    expect(userOf({ kind: "jwt", jwt, seed })).toBe(user.getPublicKey());
    expect(userOf({ kind: "token", token: "t" })).toBeUndefined();
  });
});

describe("the choice of credentials", () => {
  const old = { kind: "token", token: "old" } as const;
  const next = { kind: "token", token: "next" } as const;
  const third = { kind: "token", token: "third" } as const;
  const of = (choice: ReturnType<typeof createCredentialChoice>) =>
    (choice.authenticator() as { auth_token: string }).auth_token;

  test("keeps what works until the newest works", () => {
    const choice = createCredentialChoice(old);
    choice.offer(next);
    expect([of(choice), choice.isPending()]).toEqual(["old", true]);
    choice.preferNewest();
    choice.rejected();
    expect(of(choice)).toBe("old");
    choice.accepted();
    expect(choice.isPending()).toBe(true);
    choice.preferNewest();
    choice.accepted();
    expect([of(choice), choice.isPending()]).toEqual(["next", false]);
  });

  test("tries both by turns after refusals, the newest of several among them", () => {
    const choice = createCredentialChoice(old);
    choice.offer(next);
    choice.rejected();
    expect(of(choice)).toBe("next");
    choice.offer(third);
    expect(of(choice)).toBe("third");
    choice.rejected();
    expect(of(choice)).toBe("old");
    choice.rejected();
    expect(of(choice)).toBe("third");
  });

  test("is not pending when the files are as they were", () => {
    const choice = createCredentialChoice(old);
    choice.offer(next);
    choice.offer({ ...old });
    expect([of(choice), choice.isPending()]).toEqual(["old", false]);
  });
});
