import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Ajv } from "ajv";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readConfiguration } from "../../../cli/configuration/read-configuration.ts";
import { problemReport } from "../../../cli/configuration/print-compiled.ts";
import { plainObject } from "../../crds/valid-objects.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";

let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder("validate");
});
afterEach(async () => folder.remove());

const partner = JSON.stringify(plainObject("WebhookPartner"));
const secret = JSON.stringify({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "partner" },
  stringData: { hmac: "k".repeat(32) },
});
const missing = expect.objectContaining({ field: "spec.signing.keys[0].secretRef.name", reason: "SecretNotFound" });
const read = async (place: string, text = "") => readConfiguration(place, Readable.from([Buffer.from(text)]));

describe("validate reads", () => {
  test("one file with any name, and names it as given", async () => {
    const place = join(folder.path, "partner.txt");
    await writeFile(place, `\n\n${partner}`);
    const { problems } = await read(place);
    expect(problems).toEqual([missing]);
    expect(problems[0]).toMatchObject({ file: place, line: 3 });
  });

  test("the standard input", async () => {
    const { problems, config } = await read("-", `${secret}\n---\n${partner}`);
    expect(problems).toEqual([]);
    expect(config.partners).toHaveLength(1);
    expect((await read("-", partner)).problems).toEqual([missing]);
  });

  test.each([
    ["nothing", "", "Empty"],
    ["more than two MiB", "#".repeat(2 * 1024 * 1024 + 1), "TooLarge"],
    ["a broken text", "kind: [", "InvalidYaml"],
  ])("%s on the standard input as a problem", async (_what, text, reason) => {
    expect((await read("-", text)).problems).toEqual([expect.objectContaining({ file: "stdin", line: 1, reason })]);
  });

  test("a pipe, as a shell makes it", async () => {
    const program = join(import.meta.dirname, "../../../bin/heliograph.js");
    const child = spawn(process.execPath, [program, "validate", "-"], { stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.end(partner);
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
    expect(await once(child, "close")).toEqual([1, null]);
    expect(text).toMatch(/^stdin:1: spec\.signing\.keys\[0\]\.secretRef\.name: SecretNotFound: /u);
  });
});

describe("validate reports", () => {
  test("problems and warnings as JSON", async () => {
    await writeFile(join(folder.path, "p.json"), partner);
    const { code, stdout } = await runProgram(["validate", folder.path, "-o", "json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ problems: [missing], warnings: expect.any(Array) });
  });

  test("nothing as a whole document", async () => {
    const { code, stdout } = await runProgram(["validate", "docs/examples", "--output", "json"]);
    expect({ code, report: JSON.parse(stdout) }).toMatchObject({ code: 0, report: { resources: 7, problems: [] } });
  });

  test("nothing about the example of a catalog of events", async () => {
    const { code, stdout } = await runProgram(["validate", "docs/examples/event-catalog.yaml", "--output", "json"]);
    expect({ code, report: JSON.parse(stdout) }).toMatchObject({ code: 0, report: { resources: 1, problems: [] } });
  });

  test.each([
    [["--admin", "127.0.0.1:9090"], 2, "--admin must be a URL such as http://127.0.0.1:9090."],
    [["--admin", "http://127.0.0.1:9090", "-o", "sarif"], 2, "use text or json"],
    [["--admin", "http://127.0.0.1:1"], 12, "http://127.0.0.1:1/configz cannot be read on this machine: "],
  ])("%j as an error that names the fix", async (flags, code, sentence) => {
    expect(await runProgram(["validate", "docs/examples", ...flags])).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringContaining(sentence),
    });
  });

  test("a folder without resources as a warning, since run starts with it", async () => {
    expect(await runProgram(["validate", folder.path])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`warning: ${folder.path} has no resources`),
    });
  });

  test("an unknown form as a usage error", async () => {
    expect(await runProgram(["validate", "x", "-o", "xml"])).toMatchObject({
      code: 2,
      stderr: "heliograph: --output must be one of text, json, sarif, not xml.\n",
    });
  });
});

/** The parts of SARIF 2.1.0 that a report uses, closed, with the bounds that its clauses set. */
const sarifPart = {
  type: "object",
  additionalProperties: false,
  required: ["version", "runs"],
  properties: {
    $schema: { type: "string" },
    version: { const: "2.1.0" },
    runs: { type: "array", items: { $ref: "#/$defs/run" } },
  },
  $defs: {
    run: closed(["tool", "results"], {
      tool: closed(["driver"], {
        driver: closed(["name"], {
          name: { type: "string", minLength: 1 },
          semanticVersion: { type: "string", pattern: "^\\d+\\.\\d+\\.\\d+" },
          rules: { type: "array", uniqueItems: true, items: closed(["id"], { id: { type: "string" } }) },
        }),
      }),
      columnKind: { enum: ["utf16CodeUnits", "unicodeCodePoints"] },
      results: { type: "array", items: { $ref: "#/$defs/result" } },
    }),
    result: closed(["message"], {
      ruleId: { type: "string" },
      ruleIndex: { type: "integer", minimum: 0 },
      level: { enum: ["none", "note", "warning", "error"] },
      message: closed(["text"], { text: { type: "string" } }),
      locations: { type: "array", items: { $ref: "#/$defs/location" } },
    }),
    location: closed([], {
      physicalLocation: closed(["artifactLocation"], {
        artifactLocation: closed(["uri"], { uri: { type: "string", pattern: "^[\\w.~!$&'()*+,;=:@%/-]+$" } }),
        region: closed(["startLine"], { startLine: { type: "integer", minimum: 1 } }),
      }),
      logicalLocations: {
        type: "array",
        items: closed([], { fullyQualifiedName: { type: "string" } }),
      },
    }),
  },
};

function closed(required: readonly string[], properties: object): object {
  return { type: "object", additionalProperties: false, required, properties };
}

describe("a SARIF report", () => {
  interface Log {
    readonly runs: readonly {
      readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
      readonly results: readonly { readonly ruleId: string; readonly ruleIndex: number }[];
    }[];
  }
  const isSarif = new Ajv({ strict: false }).compile(sarifPart);
  const problem = { file: "", line: 7, field: "spec.x", reason: "Invalid", message: "is wrong" };
  const warning = { ...problem, field: "", reason: "Warning", line: 1 };

  test.each([
    ["a relative path", "./config/a b.yaml", "config/a%20b.yaml"],
    ["an absolute path", "/etc/#1.yaml", "file:///etc/%231.yaml"],
    ["the standard input", "stdin", "stdin"],
  ])("is valid and names %s as a URI", async (_what, file, uri) => {
    const configuration = { ...(await read("-", secret)), problems: [{ ...problem, file }], warnings: [] };
    const log = JSON.parse(problemReport("sarif", configuration, "0.1.0")) as Log;
    expect(isSarif(log) ? [] : isSarif.errors).toEqual([]);
    expect(JSON.stringify(log)).toContain(`"uri":"${uri}"`);
  });

  test("has a rule for each reason, errors for problems and warnings for warnings", async () => {
    const found = [
      { ...problem, file: "a", reason: "Required" },
      { ...problem, file: "a" },
    ];
    const configuration = { ...(await read("-", secret)), problems: found, warnings: [{ ...warning, file: "a" }] };
    const log = JSON.parse(problemReport("sarif", configuration, "0.1.0")) as Log;
    expect(isSarif(log) ? [] : isSarif.errors).toEqual([]);
    const [{ tool, results } = { tool: { driver: { rules: [] } }, results: [] }] = log.runs;
    expect(results).toMatchObject([
      { ruleId: "Required", level: "error", message: { text: "spec.x: is wrong" } },
      { ruleId: "Invalid", level: "error" },
      { ruleId: "Warning", level: "warning", message: { text: "is wrong" } },
    ]);
    for (const { ruleId, ruleIndex } of results) expect(tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
  });

  test("of a folder without a problem has no result", async () => {
    const { stdout } = await runProgram(["validate", "docs/examples", "-o", "sarif"]);
    const log = JSON.parse(stdout) as Log;
    expect(isSarif(log) ? [] : isSarif.errors).toEqual([]);
    expect(log.runs[0]?.results).toEqual([]);
  });
});
