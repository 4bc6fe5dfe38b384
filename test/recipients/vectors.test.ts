import { createPublicKey, type JsonWebKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { receive } from "../../runtime/recipient/receive.ts";
import { createMemorySeenStore } from "../../runtime/recipient/seen-store.ts";
import type { DeliveryReport } from "../../runtime/recipient/receive.ts";
import type { VerificationKey } from "../../runtime/webhooks/signing/keys.ts";
import { run } from "../tools/run.ts";
import { httpVectors } from "./http-rows.ts";
import { goEnvironment, python, pythonWithFrameworks, pythonWithPublicKeys, recipientsFolder } from "./programs.ts";
import type { Vector } from "./vector-rows.ts";
import { vectors, vectorsFile, vectorsText } from "./vectors.ts";

const timeoutMs = 120_000;
/** With the installation of what is tested. */
const installMsMax = 600_000;
const sharedKeyVectors = vectors.filter(({ public_keys }) => public_keys === undefined);
const sharedKeyHttpVectors = httpVectors.filter(({ public_keys }) => public_keys === undefined);

describe("the published vectors", () => {
  test("are those that `npm run generate` makes with the product's signing code", async () => {
    expect(await readFile(vectorsFile, "utf8")).toBe(vectorsText());
  });

  test("have names of their own", () => {
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
  });

  test.each(vectors.map((vector) => [vector.name, vector] as const))("%s has its result in Node", async (_, vector) => {
    expect(await resultOf(vector)).toEqual(vector.expected);
  });

  test("have their results in Go, whose handler keeps its promises", { timeout: timeoutMs }, async () => {
    const args = ["test", "-trimpath", "-count=1", "-v", "."];
    const { code, stdout, stderr } = await run("go", args, {
      cwd: recipientsFolder("go"),
      env: goEnvironment,
      timeoutMs,
    });
    expect({ code, failed: stdout.match(/--- FAIL.*/gu), stderr }).toEqual({ code: 0, failed: null, stderr: "" });
    expect(stdout).toContain(`${vectors.length} vectors`);
    expect(stdout).toContain(`${httpVectors.length} HTTP vectors`);
  });

  test(
    "that name shared keys have their results in Python, whose stores keep their promises",
    { timeout: timeoutMs },
    async (context) => {
      context.skip((await python()) === undefined, "there is no Python 3.9 on PATH");
      // Without site packages.
      expect(await pythonTests("python3", ["-S"])).toEqual(
        passed(sharedKeyVectors.length, sharedKeyHttpVectors.length),
      );
    },
  );

  test("have their results in Python, with a package for public keys", { timeout: timeoutMs }, async (context) => {
    const found = await pythonWithPublicKeys();
    if ("missing" in found) return context.skip(found.missing);
    expect(await pythonTests(found.command)).toEqual(passed(vectors.length, httpVectors.length));
  });

  test("have their results in Flask, FastAPI and Django", { timeout: installMsMax }, async (context) => {
    const found = await pythonWithFrameworks();
    if ("missing" in found) return context.skip(found.missing);
    const { code, stdout, stderr } = await pythonTests(found.command, [], ["test_frameworks"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/\nOK\n$/u) as unknown });
    const count = vectors.filter(({ method }) => method === "POST").length;
    for (const name of ["django_app", "fastapi_app", "flask_app"]) {
      expect(stdout).toContain(`${httpVectors.length} HTTP vectors: ${name}\n`);
      expect(stdout).toContain(`${count} vectors: ${name}\n`);
    }
  });
});

/** What the tests of the modules in Python print and end with. */
async function pythonTests(command: string, flags: readonly string[] = [], modules: readonly string[] = []) {
  const args = [...flags, "-B", "-m", "unittest", ...modules];
  const { code, stdout, stderr } = await run(command, args, { cwd: recipientsFolder("python"), timeoutMs });
  return { code, stdout, stderr };
}

/** What they print and end with when all is right. */
function passed(count: number, httpCount: number) {
  const text = new RegExp(`\\b${httpCount} HTTP vectors\n(?:.*\n)*${count} vectors`, "u");
  const stderr: unknown = expect.stringContaining("OK");
  return { code: 0, stdout: expect.stringMatching(text) as unknown, stderr };
}

async function resultOf(vector: Vector): Promise<Vector["expected"]> {
  const { scheme, method, path, now, seen = [] } = vector;
  const nowMs = Date.parse(now);
  const store = createMemorySeenStore({ now: () => nowMs });
  for (const eventId of seen) await store.once(eventId, "1", async () => undefined);
  let told: DeliveryReport | undefined;
  const headers = Object.fromEntries(
    Object.entries(vector.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const { status } = await receive(
    { method, target: path, headers, body: Buffer.from(vector.body, "base64") },
    {
      scheme,
      store,
      keys: () => keysOf(vector),
      handle: async () => undefined,
      handlerVersion: "1",
      report: (report) => {
        told = report;
      },
      now: () => nowMs,
    },
  );
  return expectedOf(status as Vector["expected"]["status"], told);
}

const results: Readonly<Record<string, Vector["expected"]["result"]>> = {
  processed: "accepted",
  duplicate: "duplicate",
  unverified: "refused",
};

function expectedOf(status: Vector["expected"]["status"], told?: DeliveryReport): Vector["expected"] {
  const result = results[told?.outcome ?? ""] ?? "refused";
  return { result, reason: told?.fault ?? null, key: told?.keyId ?? null, status };
}

function keysOf({ secrets, public_keys = [] }: Vector): readonly VerificationKey[] {
  return [
    ...secrets.map(({ id, key }) => ({ id, secret: Buffer.from(key, "base64") })),
    ...public_keys.map(({ id, jwk }) => ({
      id,
      publicKey: createPublicKey({ key: jwk as JsonWebKey, format: "jwk" }),
    })),
  ];
}
