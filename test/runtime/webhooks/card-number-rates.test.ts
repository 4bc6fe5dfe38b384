import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { hasCardNumber } from "../../../runtime/webhooks/events/card-numbers.ts";
import { isSoak } from "../../support/soak.ts";

/** Values of each kind; a soak takes a million. */
const values = isSoak ? 1_000_000 : 10_000;
const timeoutMs = 300_000;
const seed = "heliograph";

/** Bytes that are the same in every run: SHA-256 of a counter. */
function bytesOf(kind: string, index: number): Buffer {
  return createHash("sha256").update(`${seed}:${kind}:${index}`).digest();
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const written = (bytes: Buffer, alphabet: string, count: number): string =>
  Array.from(bytes.subarray(0, count), (byte) => alphabet[byte % alphabet.length]).join("");
const decimal = (bytes: Buffer, count: number): string =>
  `${1 + ((bytes[31] ?? 0) % 9)}${written(bytes, "0123456789", count - 1)}`;
const uuid = (hex: string, version: string): string =>
  [hex.slice(0, 8), hex.slice(8, 12), version + hex.slice(13, 16), `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );

/** An IBAN with right check digits. Source: ISO 13616-1. */
function iban(country: string, account: string): string {
  const digits = `${account}${country}00`.replace(/[A-Z]/gu, (letter) => String(Number.parseInt(letter, 36)));
  return `${country}${String(98n - (BigInt(digits) % 97n)).padStart(2, "0")}${account}`;
}

const epochMs = Date.UTC(2026, 0, 1);
const momentOf = (bytes: Buffer): number =>
  epochMs + (bytes.readUInt32BE(0) % 31_536_000) * 1_000 + (bytes.readUInt16BE(4) % 1_000);

/** Kinds of values, how one is made, and how many of a million are refused at most. */
const kinds: readonly (readonly [kind: string, make: (bytes: Buffer) => string, perMillionMax: number])[] = [
  ["SHA-256, hexadecimal", (bytes) => bytes.toString("hex"), 0],
  ["SHA-256 behind sha256:", (bytes) => `sha256:${bytes.toString("hex")}`, 0],
  ["SHA-256, base64", (bytes) => bytes.toString("base64"), 0],
  ["UUID version 4", (bytes) => uuid(bytes.toString("hex"), "4"), 0],
  ["UUID version 7", (bytes) => uuid(momentOf(bytes).toString(16).padStart(12, "0") + bytes.toString("hex"), "7"), 0],
  ["UUID without dashes", (bytes) => uuid(bytes.toString("hex"), "4").replaceAll("-", ""), 0],
  ["ULID", (bytes) => `01${written(bytes, crockford, 24)}`, 0],
  ["22 characters of base62", (bytes) => written(bytes, base62, 22), 0],
  ["object id, 24 hexadecimal digits", (bytes) => bytes.toString("hex", 0, 12), 0],
  ["span id, 16 hexadecimal digits", (bytes) => bytes.toString("hex", 0, 8), 100],
  ["IBAN of Norway", (bytes) => iban("NO", decimal(bytes, 11)), 0],
  ["IBAN of the United Kingdom", (bytes) => iban("GB", `NWBK${decimal(bytes, 14)}`), 0],
  ["IBAN of Germany, in fours", (bytes) => iban("DE", decimal(bytes, 18)).replace(/.{4}/gu, "$& "), 0],
  ["time in milliseconds", (bytes) => String(momentOf(bytes)), 0],
  ["time in nanoseconds", (bytes) => `${momentOf(bytes)}${written(bytes, "0123456789", 6)}`, 0],
  ["time of ISO 8601", (bytes) => new Date(momentOf(bytes)).toISOString(), 0],
  ["amount with a fraction", (bytes) => `${decimal(bytes, 9)}.${decimal(bytes, 8)}`, 0],
  ["phone number", (bytes) => `+49 ${decimal(bytes, 3)} ${decimal(bytes, 7)}`, 0],
  ["random order number of 12 digits", (bytes) => decimal(bytes, 12), 0],
  ["random order number of 13 digits", (bytes) => decimal(bytes, 13), 20_000],
  ["random order number of 16 digits", (bytes) => decimal(bytes, 16), 60_000],
  ["the same behind ORD-", (bytes) => `ORD-${decimal(bytes, 16)}`, 60_000],
];

test.each(kinds)(
  `%s is taken for a card number as rarely as the page says (${values} values)`,
  { timeout: timeoutMs },
  (kind, make, perMillionMax) => {
    let refused = 0;
    for (let index = 0; index < values; index += 1) if (hasCardNumber(make(bytesOf(kind, index)))) refused += 1;
    const perMillion = Math.round((refused / values) * 1_000_000);
    process.stdout.write(`card numbers: ${kind}: ${perMillion} of a million\n`);
    expect(perMillion).toBeLessThanOrEqual(perMillionMax);
  },
);
