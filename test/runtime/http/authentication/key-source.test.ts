import { errors, type JSONWebKeySet } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { KeySource, keySourceTimes as times } from "../../../../runtime/http/authentication/key-source.ts";
import { makeIssuer, type TestIssuer } from "../../../support/tokens.ts";

let first: TestIssuer;
let second: TestIssuer;

beforeAll(async () => {
  first = await makeIssuer("https://id.example", "k1");
  second = await makeIssuer("https://id.example", "k2");
});

/** A source whose keys, failures and clock the test sets, and that counts its reads. */
function settableSource() {
  const setup = { keys: [first], fails: false, nowMs: 0, reads: 0 };
  const load = async (): Promise<JSONWebKeySet> => {
    setup.reads += 1;
    if (setup.fails) throw new Error("unreachable");
    return { keys: setup.keys.map(({ publicJwk }) => publicJwk) };
  };
  const source = new KeySource(load, () => setup.nowMs);
  const find = async ({ kid }: TestIssuer) => source.getKey({ alg: "ES256", kid }, { payload: "", signature: "" });
  return { setup, find, version: source.version };
}

describe("the keys of an issuer", () => {
  test("are read once, however many tokens wait for them", async () => {
    const { setup, find } = settableSource();
    await Promise.all(Array.from({ length: 20 }, () => find(first)));
    await find(first);
    expect(setup.reads).toBe(1);
  });

  test("are read again for an unknown key id, so that a rotation is followed", async () => {
    const { setup, find } = settableSource();
    await find(first);
    setup.keys = [first, second];
    setup.nowMs += times.cooldownMs;
    await expect(find(second)).resolves.toBeDefined();
    expect(setup.reads).toBe(2);
  });

  test("are read at most once per cooldown, whatever key ids callers invent", async () => {
    const { setup, find } = settableSource();
    await find(first);
    const invented = Array.from({ length: 50 }, () => find(second));
    const results = await Promise.allSettled(invented);
    expect(results.every(({ status }) => status === "rejected")).toBe(true);
    await expect(find(second)).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey);
    expect(setup.reads).toBe(1);
    setup.nowMs += times.cooldownMs;
    await Promise.allSettled(Array.from({ length: 50 }, () => find(second)));
    expect(setup.reads).toBe(2);
  });

  test("drop a withdrawn key when they are refreshed by age", async () => {
    const { setup, find } = settableSource();
    await find(first);
    setup.keys = [second];
    setup.nowMs += times.refreshMs;
    await expect(find(first)).resolves.toBeDefined();
    await expect.poll(() => setup.reads).toBe(2);
    await expect(find(first)).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey);
  });

  test("stay trusted while they cannot be read, and no longer than the bound", async () => {
    const { setup, find } = settableSource();
    await find(first);
    setup.fails = true;
    setup.nowMs = times.staleMs - 1;
    await expect(find(first)).resolves.toBeDefined();
    setup.nowMs = 2 * times.staleMs;
    await expect(find(first)).rejects.toMatchObject({ code: "not_ready", retryAfterSeconds: 10 });
  });

  test("that were never read refuse tokens as not ready, and are tried again only after the cooldown", async () => {
    const { setup, find } = settableSource();
    setup.fails = true;
    await expect(find(first)).rejects.toMatchObject({ code: "not_ready", cause: new Error("unreachable") });
    await expect(find(first)).rejects.toMatchObject({ code: "not_ready" });
    expect(setup.reads).toBe(1);
    setup.fails = false;
    setup.nowMs += times.cooldownMs;
    await expect(find(first)).resolves.toBeDefined();
  });

  test("have a version that changes with each reading, is none without keys and has old keys read", async () => {
    const { setup, find, version } = settableSource();
    expect(version()).toBeUndefined();
    await find(first);
    const before = version();
    expect(before).toBeDefined();
    setup.nowMs = times.refreshMs;
    expect(version()).toBe(before);
    await expect.poll(version).not.toBe(before);
    setup.fails = true;
    setup.nowMs += times.staleMs;
    expect(version()).toBeUndefined();
  });

  test("are waited for when they got old unnoticed, but not again from an issuer that is away", async () => {
    const { setup, find, version } = settableSource();
    await find(first);
    setup.keys = [second];
    setup.nowMs = times.refreshMs + times.cooldownMs;
    expect(version()).toBeUndefined();
    await expect(find(first)).rejects.toBeInstanceOf(errors.JWKSNoMatchingKey);
    setup.fails = true;
    setup.nowMs += times.refreshMs + times.cooldownMs;
    await find(second);
    const known = version();
    expect(known).toBeDefined();
    setup.nowMs += times.cooldownMs;
    await find(second);
    expect(version()).toBe(known);
  });
});
