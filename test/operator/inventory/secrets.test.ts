import { pino } from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import { SecretInventory } from "../../../operator/inventory/secrets.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { Outage } from "../../../kube/outage.ts";
import { KubeError } from "../../../kube/client/kube-error.ts";
import { keyOf, type KubeObject } from "../../../kube/client/resource.ts";
import type { SecretObject } from "../../../operator/resource-types.ts";
import { ManualClock, settle } from "../../support/manual-clock.ts";
import { ScriptedSet } from "./scripted-set.ts";

let clock: ManualClock;
let metadata: ScriptedSet<KubeObject>;
/** What the server holds, by `namespace/name`: a Secret, or what reading it fails with. */
let held: Map<string, SecretObject | KubeError>;
let reads: string[];
let changes: number;
let inventory: SecretInventory;

const client: Pick<KubeClient, "get"> = {
  get: async <T extends KubeObject>(_type: unknown, ref: { namespace?: string | undefined; name: string }) => {
    const key = keyOf(ref);
    reads.push(key);
    const answer = held.get(key) ?? new KubeError("notFound", key);
    if (answer instanceof KubeError) throw answer;
    return answer as unknown as T;
  },
};

beforeEach(() => {
  [clock, metadata, held, reads, changes] = [new ManualClock(), new ScriptedSet(), new Map(), [], 0];
  inventory = new SecretInventory({
    client,
    metadata,
    log: pino({ level: "silent" }),
    clock,
    outage: new Outage(clock, () => 0),
    onChange: () => (changes += 1),
  });
});

/** The Secret is so now, and the watch has told of it. */
function put(name: string, data: Readonly<Record<string, string>>): void {
  const { metadata: told } = metadata.put({ metadata: { namespace: "shop", name, uid: name } });
  held.set(`shop/${name}`, { metadata: told, data });
}
const read = (...names: readonly string[]) =>
  inventory.read(new Set(names.map((name) => `shop/${name}`)), new AbortController().signal);

describe("Secrets", () => {
  test("are read when they are named, once for each version, and no others", async () => {
    for (const name of ["a", "b", "c"]) put(name, { key: name });
    expect(await read("a", "b")).toEqual(
      new Map([
        ["shop/a", { key: "a" }],
        ["shop/b", { key: "b" }],
      ]),
    );
    await read("a", "b");
    expect(reads.toSorted()).toEqual(["shop/a", "shop/b"]);
    put("a", { key: "rotated" });
    expect((await read("a", "b")).get("shop/a")).toEqual({ key: "rotated" });
    expect(reads).toHaveLength(3);
  });

  test("that are not there are not asked for", async () => {
    expect(await read("nobody")).toEqual(new Map());
    expect(reads).toEqual([]);
  });

  test("keep the very same entries when only their labels change", async () => {
    put("a", { key: "a" });
    const before = (await read("a")).get("shop/a");
    put("a", { key: "a" });
    expect((await read("a")).get("shop/a")).toBe(before);
  });

  test("are reported when they are named, and not otherwise", async () => {
    put("a", { key: "a" });
    put("b", { key: "b" });
    await read("a");
    changes = 0;
    put("b", { key: "c" });
    expect(changes).toBe(0);
    put("a", { key: "c" });
    metadata.remove("shop/a");
    expect(changes).toBe(2);
    expect(await read("a")).toEqual(new Map());
  });

  test.each([
    ["may not be read", new KubeError("forbidden", "no")],
    ["cannot be read now", new KubeError("transient", "busy")],
  ])("that %s are unreadable, or what they were before, and read again later", async (_what, error) => {
    put("a", { key: "a" });
    put("b", { key: "b" });
    held.set("shop/b", error);
    expect(await read("a", "b")).toEqual(
      new Map<string, unknown>([
        ["shop/a", { key: "a" }],
        ["shop/b", "unreadable"],
      ]),
    );
    put("a", { key: "rotated" });
    held.set("shop/a", error);
    expect((await read("a", "b")).get("shop/a")).toEqual({ key: "a" });
    reads.length = 0;
    await read("a", "b");
    expect(reads).toEqual([]);
    changes = 0;
    clock.advance(10_000);
    await settle();
    expect([changes, reads.toSorted()]).toEqual([0, ["shop/a", "shop/b"]]);
    held.set("shop/a", {
      metadata: { namespace: "shop", name: "a", resourceVersion: "900" },
      data: { key: "rotated" },
    });
    held.set("shop/b", { metadata: { namespace: "shop", name: "b", resourceVersion: "901" }, data: { key: "b" } });
    clock.advance(10_000);
    await settle();
    expect(changes).toBe(1);
    expect(await read("a", "b")).toEqual(
      new Map([
        ["shop/a", { key: "rotated" }],
        ["shop/b", { key: "b" }],
      ]),
    );
  });

  test("of a namespace that cannot be listed are unreadable, not missing", async () => {
    metadata.unlisted.add("shop");
    expect(await read("a")).toEqual(new Map([["shop/a", "unreadable"]]));
    expect(reads).toEqual([]);
    metadata.unlisted.clear();
    expect(await read("a")).toEqual(new Map());
  });

  test("that are newer than the watch knows are not read again when it catches up", async () => {
    put("a", { key: "a" });
    held.set("shop/a", { metadata: { namespace: "shop", name: "a", resourceVersion: "900" }, data: { key: "newer" } });
    expect((await read("a")).get("shop/a")).toEqual({ key: "newer" });
    metadata.put({ metadata: { namespace: "shop", name: "a", uid: "a", resourceVersion: "900" } });
    await read("a");
    expect(reads).toHaveLength(1);
  });

  test("without data have no entries", async () => {
    put("a", {});
    held.set("shop/a", { metadata: { namespace: "shop", name: "a", resourceVersion: "900" } });
    expect((await read("a")).get("shop/a")).toEqual({});
  });

  test("are not read any more once the reading is aborted", async () => {
    put("a", { key: "a" });
    const aborted = AbortSignal.abort();
    await inventory.read(new Set(["shop/a"]), aborted);
    expect(reads).toEqual([]);
  });
});
