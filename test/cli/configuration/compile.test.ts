import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { allowAll } from "../../../crds/policy.ts";
import { readFolder } from "../../../runtime/config/folder/folder-source.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { temporaryFolder } from "../../support/temp-folder.ts";

interface Compiled {
  readonly hash: string;
  readonly config: { readonly material: Readonly<Record<string, string>> };
}

test("compile prints what a pod applies, secrets replaced, as YAML and as JSON", async () => {
  const { config, hash } = await readFolder("docs/examples", allowAll);
  const yaml = await runProgram(["compile", "docs/examples"]);
  const json = await runProgram(["compile", "docs/examples", "-o", "json"]);
  const compiled = JSON.parse(json.stdout) as Compiled;
  expect(yaml).toMatchObject({ code: 0, stderr: "" });
  expect(parse(yaml.stdout)).toEqual(compiled);
  expect(compiled).toEqual({ hash, config: { ...config, material: compiled.config.material } });
  expect(Object.keys(compiled.config.material)).toEqual(Object.keys(config.material));
  expect(Object.values(compiled.config.material)).toEqual(["secret of 36 bytes", "secret of 35 bytes"]);
  expect(json.stdout).not.toContain(Buffer.from("example-signing-key").toString("base64").slice(0, 20));
});

test("compile prints equal bytes for equal resources in other files", async () => {
  const folder = await temporaryFolder("compile");
  onTestFinished(() => folder.remove());
  const names = (await readdir("docs/examples")).filter((name) => name.endsWith(".yaml"));
  const texts = await Promise.all(names.map((name) => readFile(join("docs/examples", name), "utf8")));
  await writeFile(join(folder.path, "all.yaml"), texts.reverse().join("\n---\n"));
  const [one, other] = await Promise.all(["docs/examples", folder.path].map((place) => runProgram(["compile", place])));
  expect(other?.stdout).toBe(one?.stdout);
});

test("compile hides the query of an endpoint's URL", async () => {
  const folder = await temporaryFolder("compile");
  onTestFinished(() => folder.remove());
  const text = await readFile("docs/examples/webhook-partner.yaml", "utf8");
  const place = join(folder.path, "partners.yaml");
  const url = /url: (?<url>http:\S+19101)/u;
  const clientSecretRef = { name: "acme-payments-signing", key: "current" };
  const oauth2 = { tokenUrl: "https://id.example/token?p=hunter3", clientId: "sender", clientSecretRef };
  const edited = text
    .replace(url, "url: $<url>/webhooks/v1/payout?code=hunter2")
    .replace("  signing:\n", `    oauth2: ${JSON.stringify(oauth2)}\n  signing:\n`)
    .replace("  signing:\n", "  signing:\n    scheme: StandardWebhooks\n");
  await writeFile(place, edited);
  const { stdout, stderr } = await runProgram(["compile", place]);
  expect(stderr).toBe("");
  expect(stdout).toContain("?***");
  expect(stdout).not.toContain("hunter2");
  expect(stdout).toContain("https://id.example/token?***");
  expect(stdout).not.toContain("hunter3");
});

test("compile leaves an object with a problem out, says why and ends with 1", async () => {
  const { code, stdout, stderr } = await runProgram(["compile", "docs/examples/webhook-partner.yaml", "-o", "json"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const folder = await temporaryFolder("compile");
  onTestFinished(() => folder.remove());
  const text = await readFile("docs/examples/webhook-partner.yaml", "utf8");
  const place = join(folder.path, "partners.yaml");
  await writeFile(place, text.replace("name: north-ledger-signing", "name: another"));
  const broken = await runProgram(["compile", place, "-o", "json"]);
  expect(broken.code).toBe(1);
  expect(broken.stderr).toMatch(/partners\.yaml:\d+: spec\.signing\.keys\[0\]\.secretRef\.name: SecretNotFound: /u);
  expect(broken.stdout).not.toBe(stdout);
});
