import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CompiledFileSource } from "../../../runtime/config/compiled-file.ts";
import { temporaryFolder, type TemporaryFolder } from "../../support/temp-folder.ts";
import { waitFor } from "../../support/wait.ts";
import { configOf } from "./shard-secrets.ts";

const patience = { timeoutMs: 20_000, pollMs: 2 };
const pollMs = 5;

let folder: TemporaryFolder;
let path: string;
let sources: CompiledFileSource[];
let refusals: string[];

beforeEach(async () => {
  folder = await temporaryFolder("compiled");
  path = join(folder.path, "config.json");
  sources = [];
  refusals = [];
});

afterEach(async () => {
  for (const source of sources) await source.stop();
  await folder.remove();
});

async function put(content: unknown): Promise<void> {
  await writeFile(`${path}.new`, typeof content === "string" ? content : JSON.stringify(content));
  await rename(`${path}.new`, path);
}

async function open(): Promise<CompiledFileSource> {
  const log = { error: ({ err }: { readonly err: Error }) => void refusals.push(err.message) };
  const source = await CompiledFileSource.open(path, log as Parameters<typeof CompiledFileSource.open>[1], pollMs);
  sources.push(source);
  return source;
}

describe("a compiled configuration in a file", () => {
  test("is obeyed, and each edit of it", async () => {
    await put(configOf({ acme: {} }));
    const source = await open();
    expect(source.current()).toMatchObject({ config: configOf({ acme: {} }), errors: [] });
    const hashes: string[] = [];
    source.onChange(({ hash }) => hashes.push(hash));
    await put(configOf({ acme: {}, beta: {} }));
    await waitFor(() => hashes.length === 1, { ...patience, what: "the edit" });
    expect(source.current().config).toEqual(configOf({ acme: {}, beta: {} }));
  });

  test.each([
    ["is no JSON", "{", /JSON/u],
    ["is of another schema", { ...configOf({}), schema: 2 }, /no compiled configuration of schema 1/u],
    ["lacks a part", { schema: 1, partners: [] }, /no compiled configuration/u],
    ["is nothing", "null", /no compiled configuration/u],
  ])("that %s is refused at the start, and changes nothing later", async (_name, content, message) => {
    await put(content);
    await expect(open()).rejects.toThrow(message);
    await put(configOf({ acme: {} }));
    const source = await open();
    await put(content);
    await waitFor(() => refusals.some((refusal) => message.test(refusal)), { ...patience, what: "the refusal" });
    expect(source.current().config).toEqual(configOf({ acme: {} }));
  });

  test("that is removed changes nothing, and counts again when it is back", async () => {
    await put(configOf({ acme: {} }));
    const source = await open();
    await rename(path, `${path}.away`);
    await waitFor(() => refusals.some((refusal) => refusal.includes("ENOENT")), { ...patience, what: "the refusal" });
    expect(source.current().config).toEqual(configOf({ acme: {} }));
    await put(configOf({ beta: {} }));
    await waitFor(() => source.current().config.partners[0]?.name === "beta", { ...patience, what: "the new file" });
    expect(source.current().errors).toEqual([]);
  });

  test("keeps what this program cannot obey as it was, and says so", async () => {
    await put(configOf({ acme: {}, beta: {} }));
    const source = await open();
    const strange = configOf({ acme: {}, beta: {} });
    await put({
      ...strange,
      partners: strange.partners.map((partner) =>
        partner.name === "acme" ? { ...partner, state: "Dormant" } : partner,
      ),
    });
    await waitFor(() => (source.current().errors ?? []).length > 0, { ...patience, what: "the error" });
    expect(source.current()).toMatchObject({ config: strange, errors: [{ name: "acme", reason: "NotObeyable" }] });
  });
});
