import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { capBytes, mask } from "../../../kube/client/kube-error.ts";
import { stallMsMax } from "../../support/wait.ts";

describe("a text is shown without", () => {
  const rows: ReadonlyArray<readonly [string, string, string]> = [
    ["a bearer token", "Authorization: Bearer abc.DEF-123_x~y+z/==, next", "Authorization: Bearer ***, next"],
    ["basic credentials", "authorization: basic dXNlcjpwYXNz", "authorization: basic ***"],
    ["a JWT on its own", "got eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln from it", "got *** from it"],
    ["a signing key", "key whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw refused", "key *** refused"],
    ["credentials in a URL", "cannot reach https://user:pass@host/path", "cannot reach https://***@host/path"],
    [
      "a named secret",
      'client_secret="s3cr3t" password: hunter2; api-key=k',
      'client_secret="***" password: ***; api-key=***',
    ],
    [
      "credentials with the characters of a path",
      "cannot reach nats://user:p@s/s@host:4222",
      "cannot reach nats://***@host:4222",
    ],
    [
      "a named secret in JSON inside a text",
      String.raw`"{\"password\":\"hunter2\"}"`,
      String.raw`"{\"password\":\"***\"}"`,
    ],
    ["a named secret that begins with a status", "password: 404x", "password: ***"],
    ["a named secret in JSON", '{"accessToken":"abc","a":1}', '{"accessToken":"***","a":1}'],
    ["a private key", "a -----BEGIN EC PRIVATE KEY-----\nMHcCAQ\n-----END EC PRIVATE KEY----- b", "a *** b"],
    ["a private key that was cut off", "a -----BEGIN PRIVATE KEY-----\nMHcCAQ", "a ***"],
  ];
  test.each(rows)("%s", (_name, text, shown) => {
    expect(mask(text)).toBe(shown);
  });

  test("anything else being touched", () => {
    const text =
      'WebhookPartner "a/one" is invalid: spec.signing.keys[0].secretRef: no Secret "one-keys" in namespace a';
    expect(mask(text)).toBe(text);
    const statuses = "reading the Secret: 404 Not Found (secret=404), token: 401, Secret: 503";
    expect(mask(statuses)).toBe(statuses);
  });
});

test("masking a text of 64 KiB that is all prefix takes no more than moments", () => {
  const started = performance.now();
  for (const piece of ["a-", "secret-", "token", "eyJ", "://", "-----BEGIN A", "bearer "])
    mask(piece.repeat(65_536 / piece.length));
  expect(performance.now() - started).toBeLessThan(stallMsMax);
});

test("a capped text is valid, no longer than its bound, and starts as the whole did", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 3, max: 40 }), (text, bytesMax) => {
      const capped = capBytes(text, bytesMax);
      expect(Buffer.byteLength(capped)).toBeLessThanOrEqual(bytesMax);
      expect(text.startsWith(capped.replace(/…$/u, "")) || capped === text).toBe(true);
    }),
  );
});
