import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { otherReading, readPublishedKey, readSigningKey } from "../../crds/signing-key.ts";

const bytes = Buffer.from(Array.from({ length: 40 }, (_, index) => 255 - index));
const base64 = bytes.toString("base64");
const urlSafe = bytes.toString("base64url");
const { privateKey } = generateKeyPairSync("ed25519");
const publicPem = createPublicKey(privateKey).export({ type: "spki", format: "pem" }).toString();

const read = (text: string) => readSigningKey("StandardWebhooks", Buffer.from(text));
const secretOf = (key: ReturnType<typeof readSigningKey>) =>
  "secret" in key ? Buffer.from(key.secret).toString("hex") : key;

describe("a key of Standard Webhooks", () => {
  test.each([
    ["whsec_ and base64", `whsec_${base64}`],
    ["whsec_ and base64 without its padding", `whsec_${base64.replaceAll("=", "")}`],
    ["whsec_ and base64 with a line feed", `whsec_${base64}\n`],
    ["whsec_ and base64 with CRLF", `whsec_${base64}\r\n`],
    ["blanks around whsec_ and base64", `  whsec_${base64}\t`],
  ])("is the decoded bytes of %s", (_, text) => {
    expect(secretOf(read(text))).toBe(bytes.toString("hex"));
  });

  test.each([
    ["v1, in front", `v1,whsec_${base64}`, "has other text around whsec_"],
    ["v1, and a line feed", `v1,whsec_${base64}\n`, "has other text around whsec_"],
    ["v1a, in front of a private key", `v1a,whsk_${base64}`, "has other text around whsk_"],
    ["quotation marks", `"whsec_${base64}"`, "has other text around whsec_"],
    ["a name", `WEBHOOK_SECRET=whsec_${base64}`, "has other text around whsec_"],
    ["upper case", `WHSEC_${base64}`, "has other text around whsec_"],
    ["a byte order mark", `\uFEFFwhsec_${base64}`, "has other text around whsec_"],
    ["a public key", `whpk_${base64}`, "is a public key (whpk_)"],
    ["a public key with its version", `v1a,whpk_${base64}`, "is a public key (whpk_)"],
    ["a public key in PEM", publicPem, "is PEM, but not a private key"],
    ["url-safe base64", `whsec_${urlSafe}`, "it is url-safe base64; write + for - and / for _"],
    ["two keys", `whsec_${base64} whsec_${base64}`, "is not base64 after whsec_"],
    ["lines of base64", `whsec_${base64.slice(0, 20)}\n${base64.slice(20)}`, "is not base64 after whsec_"],
  ])("is not %s, which is rejected by its name", (_, text, message) => {
    expect(read(text)).toEqual({
      fault: { reason: "KeyUnusable", message: expect.stringContaining(message) as unknown },
    });
  });

  test.each([
    ["v1, in front", `v1,whsec_${base64}`],
    ["upper case", `WHSEC_${base64}`],
    ["a public key", `whpk_${base64}`],
    ["a public key in PEM", publicPem],
  ])("that an earlier version published with %s still signs with the same bytes", (_, text) => {
    expect(secretOf(readPublishedKey("StandardWebhooks", Buffer.from(text)))).toBe(Buffer.from(text).toString("hex"));
  });

  test.each([
    ["is url-safe base64 after whsec_", `whsec_${urlSafe}`, "KeyUnusable"],
    ["is short after v1,", "v1,whsec_MfKQ9r8GKYq", "KeyTooShort"],
    ["is short", "short", "KeyTooShort"],
  ])("that %s was in force in no version", (_, text, reason) => {
    expect(readPublishedKey("StandardWebhooks", Buffer.from(text))).toMatchObject({ fault: { reason } });
  });

  test("is the text as it is in the other schemes", () => {
    const text = Buffer.from(`v1,whsec_${base64}`);
    expect(secretOf(readSigningKey("HmacV1", text))).toBe(text.toString("hex"));
    expect(otherReading("HmacV1", Buffer.from(base64))).toBeUndefined();
  });
});

describe("a key of Standard Webhooks without a prefix", () => {
  test.each([
    ["24 bytes", Buffer.alloc(24, 7).toString("base64"), 24],
    ["64 bytes", Buffer.alloc(64, 7).toString("base64"), 64],
    ["40 bytes with a line feed", `${base64}\n`, 40],
    ["40 bytes without padding", base64.replaceAll("=", ""), 40],
    ["32 bytes and bits that decoders drop", `${"A".repeat(42)}B=`, 32],
    ["64 hexadecimal digits, which are also base64", "0123456789abcdef".repeat(4), 48],
  ])("has another reading as base64 of %s", (_, text, length) => {
    expect(secretOf(read(text))).toBe(Buffer.from(text).toString("hex"));
    expect(otherReading("StandardWebhooks", Buffer.from(text))).toHaveLength(length);
  });

  test.each([
    ["base64 of 65 bytes", Buffer.alloc(65, 7).toString("base64")],
    ["base64 of 23 bytes", Buffer.alloc(23, 7).toString("base64")],
    ["url-safe base64", urlSafe],
    ["a sentence", "correct horse battery staple, and some more"],
    ["base64 with one character too many", `${"A".repeat(44)}B`],
    ["base64 with too much padding", `${"A".repeat(43)}==`],
    ["whsec_ and base64", `whsec_${base64}`],
  ])("has no other reading if it is %s", (_, text) => {
    expect(otherReading("StandardWebhooks", Buffer.from(text))).toBeUndefined();
  });
});
