import { mkdir, rename, rm, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FolderSource, readFolder } from "../../../../runtime/config/folder/folder-source.ts";
import type { FolderState } from "../../../../runtime/config/folder/folder-state.ts";
import { allowAll } from "../../../../crds/policy.ts";
import { plainObject } from "../../../crds/valid-objects.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";
import { waitFor } from "../../../support/wait.ts";

const secret = JSON.stringify({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "partner" },
  stringData: { hmac: "k".repeat(32) },
});
const partner = (name: string, changes = {}) => JSON.stringify(plainObject("WebhookPartner", changes, name));
const timeoutOf = ({ config }: FolderState) => config.partners[0]?.endpoint.timeoutMs;
const names = ({ config }: FolderState) => config.partners.map(({ name }) => name);

let folder: TemporaryFolder;
let opened: FolderSource | undefined;
const write = (name: string, text: string | Buffer) => writeFile(join(folder.path, name), text);
/** As editors save: never half-written to an onlooker. */
async function swap(name: string, text: string): Promise<void> {
  await write(".new", text);
  await rename(join(folder.path, ".new"), join(folder.path, name));
}

beforeEach(async () => {
  folder = await temporaryFolder("config");
  opened = undefined;
});

afterEach(async () => {
  await opened?.stop();
  await folder.remove();
});

/** Opens the folder and collects every later state. */
async function open(): Promise<{ source: FolderSource; states: FolderState[] }> {
  const source = await FolderSource.open(folder.path, { policy: allowAll, pollMs: 20, settleMs: 5 });
  opened = source;
  const states: FolderState[] = [];
  source.onChange((state) => states.push(state));
  return { source, states };
}

const changed = (states: readonly FolderState[], what: string, is: (state: FolderState) => boolean) =>
  waitFor(() => states.find(is), { timeoutMs: 20_000, what });

describe("reading a folder", () => {
  test("compiles what its files hold", async () => {
    await write("partner.yaml", partner("acme"));
    await write("secret.yml", secret);
    const state = await readFolder(folder.path, allowAll);
    expect(state.problems).toEqual([]);
    expect(names(state)).toEqual(["acme"]);
    expect(state.hash).toMatch(/^[0-9a-f]{64}$/u);
  });

  test("leaves other files, hidden files and folders alone", async () => {
    await write("notes.txt", "not: [yaml");
    await write(".hidden.yaml", "not: [yaml");
    await mkdir(join(folder.path, "deeper.yaml"));
    expect((await readFolder(folder.path, allowAll)).problems).toEqual([]);
  });

  test("places the problems that only several objects have", async () => {
    await write("partner.yaml", `\n\n${partner("acme")}`);
    const { problems, config } = await readFolder(folder.path, allowAll);
    expect(problems).toMatchObject([
      { file: "partner.yaml", line: 3, field: "spec.signing.keys[0].secretRef.name", reason: "SecretNotFound" },
    ]);
    expect(config.partners).toMatchObject([{ name: "acme", held: "unresolved" }]);
  });

  test.each([
    ["is not UTF-8", Buffer.from([0x61, 0x3a, 0xff]), "InvalidUtf8"],
    ["is empty", "\n", "Empty"],
    ["is too large", Buffer.alloc(2 * 1024 * 1024 + 1, "#"), "TooLarge"],
    ["cannot be parsed", "a: [", "InvalidYaml"],
  ])("goes on past a file that %s", async (_name, content, reason) => {
    await write("a.yaml", content);
    await write("partner.yaml", partner("acme"));
    await write("secret.yaml", secret);
    const state = await readFolder(folder.path, allowAll);
    expect(state.problems).toMatchObject([{ file: "a.yaml", reason }]);
    expect(names(state)).toEqual(["acme"]);
  });

  test("fails when there is no folder", async () => {
    await expect(readFolder(join(folder.path, "nowhere"), allowAll)).rejects.toThrow(/ENOENT/u);
  });
});

describe("watching a folder", () => {
  beforeEach(async () => {
    await write("partner.yaml", partner("acme"));
    await write("secret.yaml", secret);
  });

  test("applies an edit, a new file and a removed one", async () => {
    const { source, states } = await open();
    expect(names(source.current())).toEqual(["acme"]);
    await write("partner.yaml", partner("acme", { "endpoint.timeoutSeconds": 3 }));
    await changed(states, "the edit", (state) => timeoutOf(state) === 3000);
    const betaSecret = secret.replaceAll('"partner"', '"beta"');
    await write("other.yaml", `${partner("beta", { "signing.keys[0].secretRef.key": "beta" })}\n---\n${betaSecret}`);
    await changed(states, "the new file", ({ problems }) => problems.length > 0);
    await rm(join(folder.path, "partner.yaml"));
    await rm(join(folder.path, "other.yaml"));
    await changed(states, "the removal", ({ config }) => config.partners.length === 0);
    expect(source.current()).toBe(states.at(-1));
  });

  test("applies an edit that keeps size and time of the file", async () => {
    const at = new Date("2026-01-01T00:00:00Z");
    await write("partner.yaml", partner("acme", { "endpoint.timeoutSeconds": 3 }));
    await utimes(join(folder.path, "partner.yaml"), at, at);
    const { states } = await open();
    await write("partner.yaml", partner("acme", { "endpoint.timeoutSeconds": 4 }));
    await utimes(join(folder.path, "partner.yaml"), at, at);
    expect(names(await changed(states, "the edit", (state) => timeoutOf(state) === 4000))).toEqual(["acme"]);
  });

  test("applies a changed Secret", async () => {
    const { source, states } = await open();
    const { hash } = source.current();
    await write("secret.yaml", secret.replace("kkk", "jjj"));
    expect(names(await changed(states, "the new key", (state) => state.hash !== hash))).toEqual(["acme"]);
  });

  test("keeps a partner in force whose edit is refused, until it is mended", async () => {
    const { source, states } = await open();
    await write("partner.yaml", partner("acme", { "endpoint.url": "ftp://x" }));
    const refused = await changed(states, "the refusal", ({ kept }) => kept.length === 1);
    expect(names(refused)).toEqual(["acme"]);
    expect(refused.problems).toMatchObject([{ file: "partner.yaml", field: "spec.endpoint.url" }]);
    await write("partner.yaml", partner("acme"));
    await changed(states, "the repair", ({ problems }) => problems.length === 0);
    expect(source.current().kept).toEqual([]);
  });

  test("keeps a partner in force whose Secret goes or is misspelt, until it is mended", async () => {
    const { source, states } = await open();
    const inForce = source.current().config;
    await rm(join(folder.path, "secret.yaml"));
    const without = await changed(states, "the loss of the Secret", ({ kept }) => kept.length === 1);
    expect(without.config).toMatchObject({ partners: [{ name: "acme", state: "Active" }], material: inForce.material });
    expect(without.problems).toMatchObject([{ file: "partner.yaml", reason: "SecretNotFound" }]);
    await write("secret.yaml", secret);
    await changed(states, "the Secret to return", ({ problems }) => problems.length === 0);
    expect(source.current().config).toEqual(inForce);
    await write("partner.yaml", partner("acme", { "signing.keys[0].secretRef.name": "typo" }));
    expect(
      names(
        await changed(
          states,
          "the typo",
          ({ problems }) => problems[0]?.field === "spec.signing.keys[0].secretRef.name" && states.length > 2,
        ),
      ),
    ).toEqual(["acme"]);
    expect(source.current().config.material).toEqual(inForce.material);
  });

  test("holds that partner, without its key, when seven days are over", async () => {
    const start = Date.now();
    let nowMs = start;
    opened = await FolderSource.open(folder.path, { policy: allowAll, pollMs: 20, settleMs: 5, now: () => nowMs });
    const states: FolderState[] = [];
    opened.onChange((state) => states.push(state));
    await rm(join(folder.path, "secret.yaml"));
    await changed(states, "the loss of the Secret", ({ kept }) => kept.length === 1);
    nowMs = start + 7 * 86_400_000;
    const over = await changed(
      states,
      "the end of the last good version",
      ({ config }) => config.partners[0]?.held !== undefined,
    );
    expect(over.config).toMatchObject({ partners: [{ held: "unresolved", state: "Paused" }], material: {} });
    expect(over.kept).toEqual([]);
  });

  test("keeps everything when a file is truncated or the folder goes away", async () => {
    const { states } = await open();
    await truncate(join(folder.path, "partner.yaml"));
    expect(names(await changed(states, "the truncation", ({ kept }) => kept.length === 1))).toEqual(["acme"]);
    await rename(folder.path, `${folder.path}-away`);
    const away = await changed(states, "the loss", ({ problems }) => problems[0]?.reason === "Unreadable");
    expect(names(away)).toEqual(["acme"]);
    await rename(`${folder.path}-away`, folder.path);
    await waitFor(() => states.at(-1)?.problems[0]?.reason === "Empty", {
      timeoutMs: 20_000,
      what: "the folder to return",
    });
  });

  test("reports nothing when the applied state does not change", async () => {
    const { states } = await open();
    await swap("notes.yaml", "apiVersion: v1\nkind: ConfigMap\n");
    await swap("partner.yaml", `# a remark\n${partner("acme")}`);
    await swap("marker.yaml", secret.replace('"partner"', '"marker"'));
    await swap("partner.yaml", partner("acme", { state: "Paused" }));
    await changed(states, "the marker", ({ config }) => config.partners[0]?.state === "Paused");
    expect(states.filter(({ config }) => config.partners[0]?.state !== "Paused")).toEqual([]);
  });

  test("follows the swap of a link, as a mounted ConfigMap changes", async () => {
    await mkdir(join(folder.path, "v1"));
    await mkdir(join(folder.path, "v2"));
    await write("v1/p.yaml", partner("acme"));
    await write("v2/p.yaml", partner("acme", { "endpoint.timeoutSeconds": 4 }));
    await symlink("v1", join(folder.path, "..data"));
    await rm(join(folder.path, "partner.yaml"));
    await symlink("..data/p.yaml", join(folder.path, "partner.yaml"));
    const { source, states } = await open();
    expect(names(source.current())).toEqual(["acme"]);
    await symlink("v2", join(folder.path, "..tmp"));
    await rename(join(folder.path, "..tmp"), join(folder.path, "..data"));
    await changed(states, "the swap", (state) => timeoutOf(state) === 4000);
    expect(states).toHaveLength(1);
  });

  test("ends at once when stopped, and calls no listener afterwards", async () => {
    const { source, states } = await open();
    await source.stop();
    await write("partner.yaml", partner("acme", { state: "Paused" }));
    expect(states).toEqual([]);
  });
});
