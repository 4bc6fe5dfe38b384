import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeJwt } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { defaultSettings } from "../../runtime/config/settings/settings-schema.ts";
import { createAuthenticate } from "../../runtime/http/authentication/authenticate.ts";
import { openDevIssuer } from "../../runtime/http/authentication/dev-issuer.ts";
import { plainObject } from "../crds/valid-objects.ts";
import { runProgram } from "../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../support/temp-folder.ts";
import { nothingShown } from "../support/tokens.ts";

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder("cli");
});

afterEach(async () => folder.remove());

describe("heliograph", () => {
  test("prints its help and version on the standard output", async () => {
    expect(await runProgram([])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Usage: heliograph COMMAND/u),
      stderr: "",
    });
    expect(await runProgram(["run", "--help"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Usage: heliograph run DIR/u),
    });
    expect(await runProgram(["--version"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/u),
    });
  });

  test("prints what a report of a problem names", async () => {
    const { code, stdout } = await runProgram(["version", "-o", "json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/u),
      node: process.versions.node,
    });
    expect((await runProgram(["version"])).stdout).toMatch(
      /^heliograph \d+\.\d+\.\d+\ncommit (?:[0-9a-f]{40}|unknown)\nnode /u,
    );
  });

  test("refuses an unknown flag with 2 and one sentence", async () => {
    const stderr = "heliograph: Unknown option '--prot'; see heliograph run --help.\n";
    expect(await runProgram(["run", "config", "--prot", "1"])).toEqual({ code: 2, stdout: "", stderr });
  });
});

describe("heliograph validate", () => {
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "partner" },
    stringData: { hmac: "k".repeat(32) },
  };

  test("finds nothing in a good folder and ends with 0", async () => {
    await writeFile(join(folder.path, "p.json"), JSON.stringify(plainObject("WebhookPartner")));
    await writeFile(join(folder.path, "s.json"), JSON.stringify(secret));
    const result = await runProgram(["validate", folder.path]);
    expect(result).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(/1 resources in force, 0 problems\n$/u),
    });
  });

  test("finds nothing in the examples", async () => {
    expect(await runProgram(["validate", "docs/examples"])).toMatchObject({ code: 0, stdout: "" });
  });

  test("prints every problem with file, line, field and reason, and ends with 1", async () => {
    await writeFile(join(folder.path, "a.yaml"), "kind: [\n");
    await writeFile(join(folder.path, "b.yaml"), "apiVersion: v1\nkind: Pod\n");
    await writeFile(join(folder.path, "c.json"), `\n${JSON.stringify(plainObject("WebhookPartner"))}`);
    const { code, stdout } = await runProgram(["validate", folder.path]);
    expect(code).toBe(1);
    expect(stdout.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/a\.yaml:2: InvalidYaml: /u),
      expect.stringMatching(/b\.yaml:1: apiVersion: NotSupported: v1 with kind Pod is not known here$/u),
      expect.stringMatching(/c\.json:2: spec\.signing\.keys\[0\]\.secretRef\.name: SecretNotFound: /u),
    ]);
  });

  test("ends with 3 and a sentence when there is no folder", async () => {
    const nowhere = join(folder.path, "nowhere");
    const { code, stderr } = await runProgram(["validate", nowhere]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/^heliograph: the configuration .*nowhere cannot be read: ENOENT.*\.\n$/u);
  });
});

describe("heliograph dev-token", () => {
  const mint = async (...more: string[]) => {
    const args = ["dev-token", "--data", folder.path, "--tenant", "lumen", "--scope", "events:write", ...more];
    const { code, stdout, stderr } = await runProgram(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return stdout.trim();
  };

  test("prints a token that the issuer of the same data folder verifies", async () => {
    const token = await mint("--region", "eu", "--client", "shop");
    const { trusted } = await openDevIssuer(folder.path);
    const authenticate = createAuthenticate([trusted], defaultSettings.claims, Date.now);
    expect(await authenticate(`Bearer ${token}`, nothingShown)).toEqual({
      client: "shop",
      tenants: ["lumen"],
      scopes: ["events:write"],
      regions: ["eu"],
      environments: ["*"],
      metrics: ["*"],
      roles: [],
      expiresAtMs: expect.any(Number),
    });
  });

  test("prints a token with the scopes that the quickstart asks for", async () => {
    const [, line = ""] =
      /^npx heliograph (dev-token .*)$/mu.exec(await readFile("docs/tutorials/quickstart.md", "utf8")) ?? [];
    const { code, stdout } = await runProgram([...line.split(" "), "--data", folder.path]);
    expect(code).toBe(0);
    expect(decodeJwt(stdout.trim())).toMatchObject({ tenants: ["lumen"], scope: "events:write metrics:read" });
  });

  test("prints a token for some partners", async () => {
    expect(decodeJwt(await mint("--partner", "shop/one", "--partner", "bank/two"))).toMatchObject({
      partners: ["shop/one", "bank/two"],
    });
    expect(decodeJwt(await mint())).not.toHaveProperty("partners");
  });

  test("prints a token that another data folder does not trust", async () => {
    const token = await mint();
    const { trusted } = await openDevIssuer(join(folder.path, "other"));
    const authenticate = createAuthenticate([trusted], defaultSettings.claims, Date.now);
    await expect(authenticate(`Bearer ${token}`, nothingShown)).rejects.toMatchObject({ code: "token_invalid" });
  });

  test("lives as long as asked", async () => {
    const { iat = 0, exp } = decodeJwt(await mint("--ttl", "90s"));
    expect(exp).toBe(iat + 90);
  });

  test("keeps one key, which only its owner can read", async () => {
    await mint();
    const path = join(folder.path, "dev-issuer.jwk.json");
    const key = await readFile(path, "utf8");
    await mint();
    expect(await readFile(path, "utf8")).toBe(key);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("ends with 5 and a sentence when the key file is damaged", async () => {
    await writeFile(join(folder.path, "dev-issuer.jwk.json"), "{");
    const result = await runProgram(["dev-token", "--data", folder.path, "--tenant", "t", "--scope", "s"]);
    expect(result).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/is corrupt; delete it to create a new key at the next start\.\n$/u),
    });
  });
});
