import { mkdir, readdir, rename, rm, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FolderRecordFile } from "../../../../runtime/config/folder/folder-record.ts";
import { FolderSource, readFolder } from "../../../../runtime/config/folder/folder-source.ts";
import type { FolderState } from "../../../../runtime/config/folder/folder-state.ts";
import { sensitiveFields } from "../../../../crds/declared-types.ts";
import { uidOf } from "../../../../crds/compile/origin.ts";
import { emptyConfig } from "../../../../operator/publish/plan.ts";
import { partnerKey } from "../../../../runtime/webhooks/ids.ts";
import { ConfiguredPartners } from "../../../../runtime/webhooks/partners/configured-partners.ts";
import { ownLanesMaxAlone } from "../../../../runtime/webhooks/partners/partner.ts";
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

  test("knows which file declares a partner, also one that is rejected", async () => {
    await write("partner.yaml", partner("acme"));
    await write("secret.yaml", secret);
    await write("typo.yaml", partner("typo", { "endpoint.url": "ftp://x" }));
    const { files, config } = await readFolder(folder.path, allowAll);
    expect(Object.fromEntries(files)).toEqual({ "default/acme": "partner.yaml", "default/typo": "typo.yaml" });
    expect(config.notApplied?.partners).toMatchObject([{ name: "typo" }]);
    expect(config.notApplied?.partners[0]).not.toHaveProperty("file");
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

describe("a large folder", () => {
  const many = (count: number, from = 0): string =>
    Array.from({ length: count }, (_, index) => partner(`p-${from + index}`)).join("\n---\n");

  test("compiles only what an edit changes", async () => {
    await write("keys.yaml", secret);
    await write("a.yaml", partner("acme"));
    await write("b.yaml", partner("beta"));
    const { source, states } = await open();
    const before = source.current();
    await swap("a.yaml", partner("acme", { "endpoint.timeoutSeconds": 7 }));
    const after = await changed(states, "the edit", ({ config }) => config.partners[0]?.endpoint.timeoutMs === 7_000);
    const betaOf = ({ config }: FolderState) => config.partners.find(({ name }) => name === "beta");
    expect(betaOf(after)).toBe(betaOf(before));
    expect(after.results.find(({ name }) => name === "beta")).toBe(before.results.find(({ name }) => name === "beta"));
  });

  test("names the line of a fault among many documents", async () => {
    const broken = partner("broken", { "endpoint.timeoutSeconds": -1 });
    await write("many.yaml", `${many(50)}\n---\n# a comment\n${broken}\n---\n${many(50, 50)}`);
    const { problems } = await readFolder(folder.path, allowAll);
    expect(problems.find(({ field }) => field === "spec.endpoint.timeoutSeconds")).toMatchObject({
      file: "many.yaml",
      line: 102,
    });
  });

  test("is recorded in pieces that make one text", async () => {
    const data = await temporaryFolder("data");
    await write("many.yaml", `${secret}\n---\n${many(250)}`);
    const source = await FolderSource.open(folder.path, { policy: allowAll, record: new FolderRecordFile(data.path) });
    await source.stop();
    const recorded = await new FolderRecordFile(data.path).read();
    expect([...(recorded?.objects.objects.keys() ?? [])]).toHaveLength(251);
    expect([...(recorded?.parts.values() ?? [])].map(({ config }) => config)).toEqual(source.current().config.partners);
    await data.remove();
  });

  test("keeps the file of its record while that would be the same, and leaves no other", async () => {
    const data = await temporaryFolder("data");
    await write("many.yaml", `${secret}\n---\n${many(250)}`);
    const { config } = await readFolder(folder.path, allowAll);
    const record = new FolderRecordFile(data.path);
    const fileOf = async (): Promise<number> => (await stat(record.path)).ino;
    await record.write(new Map(), config);
    const first = await fileOf();
    await record.write(new Map(), config);
    expect(await fileOf()).toBe(first);
    await record.write(new Map(), { ...config, partners: config.partners.slice(1) });
    expect((await record.read())?.parts.size).toBe(0);
    expect(await fileOf()).not.toBe(first);
    expect(await readdir(data.path)).toEqual(["last-good.json"]);
    await data.remove();
  });
});

describe("a folder after a restart", () => {
  const key = (name: string, bytes = name): string =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name },
      stringData: { hmac: bytes.repeat(32).slice(0, 32) },
    });
  const uses = (name: string) => ({ "signing.keys[0].secretRef.name": name });
  const recordPath = () => join(data.path, "last-good.json");
  let data: TemporaryFolder;
  const uidOfAcme = uidOf({ kind: "WebhookPartner", metadata: { namespace: "default", name: "acme" } });
  /** Opens the folder with the record of the program that ran before, and closes it. */
  async function run(nowMs = Date.now()): Promise<FolderState> {
    const record = new FolderRecordFile(data.path);
    const source = await FolderSource.open(folder.path, { policy: allowAll, record, now: () => nowMs });
    await source.stop();
    return source.current();
  }
  const outcomeOf = ({ config }: FolderState) => ({
    inForce: config.partners.map(({ name, held, lastGoodSinceMs }) => [
      name,
      held ?? (lastGoodSinceMs === undefined ? "applied" : "last good"),
    ]),
    rejected: config.notApplied?.partners.map(({ name, reason }) => [name, reason]) ?? [],
    isPartial: config.notApplied?.isPartial ?? false,
  });

  beforeEach(async () => {
    data = await temporaryFolder("data");
    await write("acme.yaml", partner("acme", uses("acme")));
    await write("beta.yaml", partner("beta", uses("beta")));
    await write("keys.yaml", `${key("acme")}\n---\n${key("beta")}`);
  });

  afterEach(async () => data.remove());

  type Row = readonly [
    rejected: string,
    edit: () => Promise<unknown>,
    again: readonly (readonly [string, string])[],
    first: readonly (readonly [string, string])[],
    reason: readonly (readonly [string, string])[],
    isPartial: boolean,
  ];
  const applied = (name: string) => [name, "applied"] as const;
  const both = [applied("acme"), applied("beta")];
  const betaAlone = [applied("beta")];

  test.each<Row>([
    [
      "shares its key with another one",
      () => write("keys.yaml", `${key("acme")}\n---\n${key("beta", "acme")}`),
      [applied("acme"), ["beta", "conflicted"]],
      [applied("acme"), ["beta", "conflicted"]],
      [["beta", "SharedSigningKey"]],
      false,
    ],
    [
      "lost its Secret",
      () => write("keys.yaml", key("beta")),
      [["acme", "last good"], applied("beta")],
      [["acme", "unresolved"], applied("beta")],
      [["acme", "SecretNotFound"]],
      false,
    ],
    [
      "has a field that the schema rejects",
      () => write("acme.yaml", partner("acme", { ...uses("acme"), "endpoint.timeoutSeconds": -1 })),
      both,
      betaAlone,
      [["acme", "Invalid"]],
      false,
    ],
    [
      "breaks a rule",
      () => write("acme.yaml", partner("acme", { ...uses("acme"), "endpoint.url": "ftp://partner.example/" })),
      both,
      betaAlone,
      [["acme", "Invalid"]],
      false,
    ],
    [
      "is in a file with a syntax error",
      () => write("acme.yaml", "kind: ["),
      both,
      betaAlone,
      [["acme", "Unreadable"]],
      true,
    ],
    ["is in an empty file", () => write("acme.yaml", ""), both, betaAlone, [["acme", "Unreadable"]], true],
    [
      "is in a file that is a link to nothing",
      async () => {
        await rm(join(folder.path, "acme.yaml"));
        await symlink(join(folder.path, "nowhere"), join(folder.path, "acme.yaml"));
      },
      both,
      betaAlone,
      [["acme", "Unreadable"]],
      true,
    ],
    [
      "has a kind that is misspelt",
      () => write("acme.yaml", partner("acme", uses("acme")).replace("WebhookPartner", "WebhookPartnr")),
      both,
      betaAlone,
      [["acme", "Unreadable"]],
      true,
    ],
    [
      "has a name that is misspelt",
      () => write("acme.yaml", partner("acme", uses("acme")).replace('"acme"', '"Acme!"')),
      both,
      betaAlone,
      [
        ["Acme!", "Invalid"],
        ["acme", "Unreadable"],
      ],
      true,
    ],
    [
      "has an apiVersion that is not known",
      () => write("acme.yaml", partner("acme", uses("acme")).replace("v1alpha1", "v9")),
      both,
      betaAlone,
      [["acme", "Invalid"]],
      false,
    ],
  ])("keeps a partner that %s", async (_, edit, again, first, reason, isPartial) => {
    expect(outcomeOf(await run())).toEqual({ inForce: both, rejected: [], isPartial: false });
    const source = await FolderSource.open(folder.path, {
      policy: allowAll,
      record: new FolderRecordFile(data.path),
      pollMs: 20,
      settleMs: 5,
    });
    opened = source;
    await edit();
    const isEdited = () => source.current().problems.length > 0;
    await waitFor(isEdited, { timeoutMs: 20_000, what: "the edit to be read" });
    const live = outcomeOf(source.current());
    await source.stop();
    const restarted = await run();
    expect({ live, again: outcomeOf(restarted) }).toEqual({
      live: { inForce: again, rejected: reason, isPartial },
      again: { inForce: again, rejected: reason, isPartial },
    });
    await rm(recordPath());
    const fresh = outcomeOf(await run());
    expect(fresh.inForce).toEqual(first);
    const partners = new ConfiguredPartners(emptyConfig, ownLanesMaxAlone, () => new Set());
    partners.apply((await run()).config);
    expect(partners.mayExist(partnerKey(uidOfAcme))).toBe(true);
    const removed = uidOf({ kind: "WebhookPartner", metadata: { namespace: "default", name: "removed" } });
    expect(partners.mayExist(partnerKey(removed))).toBe(fresh.isPartial);
  });

  test("removes a partner whose definition was deleted while the program did not run", async () => {
    await run();
    await rm(join(folder.path, "acme.yaml"));
    expect(outcomeOf(await run())).toEqual({ inForce: betaAlone, rejected: [], isPartial: false });
  });

  test("keeps fields that a class excludes when their catalog was deleted, also after two more starts", async () => {
    await write(
      "acme.yaml",
      partner("acme", { ...uses("acme"), "subscriptions[0].payload": { excludeClasses: ["f"] } }),
    );
    const sensitive = [{ pointer: "/id", class: "f" }];
    await write("types.yaml", JSON.stringify(plainObject("EventCatalog", { "types[0].sensitive": sensitive })));
    await run();
    await rm(join(folder.path, "types.yaml"));
    for (const _ of [1, 2]) {
      const { config, warnings } = await run();
      expect(sensitiveFields(config).get("payout.processed")).toEqual(sensitive);
      expect(warnings.map(({ message }) => message).join()).toContain("no event catalog declares the field /id");
    }
    await write("acme.yaml", partner("acme", uses("acme")));
    expect((await run()).config.eventCatalogs).toBeUndefined();
  });

  test("uses a last good version no longer than it may, however often it starts", async () => {
    await run();
    await write("keys.yaml", key("beta"));
    const startMs = Date.now();
    const dayMs = 86_400_000;
    const heldOn = async (day: number) => outcomeOf(await run(startMs + day * dayMs)).inForce[0]?.[1];
    expect([await heldOn(0), await heldOn(6), await heldOn(8)]).toEqual(["last good", "last good", "unresolved"]);
  });

  test("lets only its owner read the record, which has the bytes of Secrets", async () => {
    await run();
    expect((await stat(recordPath())).mode & 0o777).toBe(0o600);
  });

  test.each([
    ["of another layout", '{"layout":9}', /it has layout 9/u],
    ["that is cut off", '{"layout":1,"obj', /cannot be read/u],
  ])("starts with a record %s, reports it and replaces it", async (_, text, message) => {
    await writeFile(recordPath(), text);
    const state = await run();
    expect(outcomeOf(state).inForce).toEqual(both);
    expect(state.problems).toMatchObject([{ reason: "Unreadable", message: expect.stringMatching(message) }]);
    expect((await run()).problems).toEqual([]);
  });

  test("reports a record that cannot be written, and applies the folder", async () => {
    await mkdir(recordPath());
    const state = await run();
    expect(outcomeOf(state).inForce).toEqual(both);
    expect(state.problems.map(({ reason }) => reason)).toEqual(["Unreadable", "NotWritable"]);
  });
});
