import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readArguments } from "../../../cli/dispatch.ts";
import { runProgram } from "../../support/heliograph-process.ts";
import { type TemporaryFolder, temporaryFolder } from "../../support/temp-folder.ts";

const example = new URL("../../../docs/examples/event-catalog.yaml", import.meta.url);
let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder("types");
  const catalog = await readFile(example, "utf8");
  await writeFile(join(folder.path, "catalog.yaml"), catalog);
  // The older of two catalogs with the same type keeps it; without a cluster, the one that is named first.
  const other = catalog
    .replace("name: payouts", "name: second")
    .replace("owner: team-payouts", "owner: team-second")
    .replace("- type: payout.created", "- type: payout.other");
  await writeFile(join(folder.path, "second.yaml"), other);
});
afterAll(() => folder?.remove());

interface Checked {
  readonly type: string;
  readonly version: string;
  readonly status: string;
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
}

async function check(value: unknown, ...args: readonly string[]) {
  const file = join(folder.path, "checked.json");
  await writeFile(file, typeof value === "string" ? value : JSON.stringify(value));
  const line = ["types", "check", file, "--folder", join(folder.path, "catalog.yaml"), ...args, "-o", "json"];
  const { code, stdout, stderr } = await runProgram(line);
  const lines = stdout.split("\n").filter((one) => one !== "");
  return { code, stderr, items: lines.map((one) => JSON.parse(one) as Checked) };
}

const data = { payout_id: "po_1", status: "processed", amount_minor: 1, currency: "EUR" };
const event = (changes: object) => ({
  event_id: "evt-1",
  type: "payout.processed",
  version: "2026-01-31",
  ts: "2026-01-31T12:00:00.000Z",
  data,
  ...changes,
});

test("types of a folder are listed, one in conflict by the catalog that keeps it", async () => {
  const { code, stdout, stderr } = await runProgram(["types", "list", "--folder", folder.path]);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout:
      "TYPE               STATE    VERSIONS     OWNER          DESCRIPTION\n" +
      "payout.created     Active   2026-01-31   team-payouts   A payout was requested.\n" +
      "payout.other       Active   2026-01-31   team-second    A payout was requested.\n" +
      "payout.processed   Active   2026-01-31   team-payouts   A payout was sent to the bank.\n",
  });
  expect(stderr).toContain("has problems");
});

test("a type is shown with its schema, and an unknown one is an error", async () => {
  const place = ["--folder", join(folder.path, "catalog.yaml")];
  const { stdout } = await runProgram(["types", "show", "payout.created", ...place, "-o", "json"]);
  expect(JSON.parse(stdout)).toMatchObject({
    type: "payout.created",
    versions: [{ version: "2026-01-31", state: "Active", examples: [{ payout_id: "po_1" }] }],
  });
  const absent = await runProgram(["types", "show", "payout.other", ...place]);
  expect(absent).toMatchObject({ code: 11, stdout: "" });
  expect(absent.stderr).toContain("no event type payout.other is declared");
});

test("events of a file are checked one by one", async () => {
  const events = [
    event({}),
    event({ data: { ...data, amount_minor: -1 } }),
    event({ type: "payout.procesed" }),
    event({ version: "2026-02-30" }),
    event({ version: "2026-02-28" }),
    event({ data: undefined }),
  ];
  const { code, items } = await check(events);
  expect(code).toBe(1);
  expect(items.map(({ status, errors }) => [status, ...errors.map(({ pointer }) => pointer)])).toEqual([
    ["Valid"],
    ["Invalid", "/amount_minor"],
    ["Undeclared", ""],
    ["Invalid", "version"],
    ["Undeclared", ""],
    ["Invalid", "/payout_id", "/status", "/amount_minor", "/currency"],
  ]);
  expect(items[4]?.errors[0]?.detail).toBe("no version 2026-02-28 is declared; declared: 2026-01-31");
});

test.each([
  [data, 0, "Valid", []],
  [{ ...data, currency: "eur" }, 1, "Invalid", ["/currency"]],
  [null, 1, "Invalid", [""]],
])("data %o is checked against the newest version", async (value, code, status, pointers) => {
  const checked = await check(value, "--type", "payout.processed");
  expect(checked.code).toBe(code);
  expect(checked.items.map((one) => [one.version, one.status, one.errors.map(({ pointer }) => pointer)])).toEqual([
    ["2026-01-31", status, pointers],
  ]);
});

test("what is no JSON is an error of usage", async () => {
  expect(await check("{")).toMatchObject({ code: 2, items: [] });
});

test.each([
  [["check", "f", "--event-version", "2026-01-31"], "--event-version needs --type."],
  [["check", "-", "--folder", "-"], "FILE and --folder cannot both be standard input."],
  [["list", "--state", "active"], "--state must be one of Active, Deprecated, Retired, not active."],
  [["generate", "--language", "cobol"], "--language must be one of typescript, not cobol."],
])("types %s is rejected", async (args, sentence) => {
  await expect(readArguments(["types", ...args], {})).rejects.toThrow(sentence);
});
