import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hasCardNumber } from "../../../../runtime/webhooks/events/card-numbers.ts";

/** Digits whose last one is the check digit of the rest. */
function checked(start: string): string {
  const digits = start.split("").reverse().map(Number);
  const sum = digits.reduce((total, digit, index) => {
    const weighted = index % 2 === 0 ? digit * 2 : digit;
    return total + Math.floor(weighted / 10) + (weighted % 10);
  }, 0);
  return `${start}${(10 - (sum % 10)) % 10}`;
}

/** The check digits of an account number. Source: ISO 13616-1. */
function ibanCheck(country: string, account: string): string {
  const digits = `${account}${country}00`.replace(/[A-Z]/gu, (deadLetter) => String(Number.parseInt(deadLetter, 36)));
  return String(98n - (BigInt(digits) % 97n)).padStart(2, "0");
}

describe("a card number", () => {
  test.each([
    ["Visa", "4111111111111111"],
    ["Visa of 13 digits", "4222222222222"],
    ["Visa of 19 digits", checked("411111111111111111")],
    ["Mastercard", "5555555555554444"],
    ["Mastercard's second range", "2223003122003222"],
    ["American Express", "378282246310005"],
    ["Diners Club", "30569309025904"],
    ["Discover", "6011111111111117"],
    ["JCB", "3530111333300000"],
    ["UnionPay", "6200000000000005"],
    ["Maestro", checked("675964982643845")],
    ["Mir", checked("220070000000000")],
    ["Troy", checked("979200000000000")],
  ])("of %s is found", (_, digits) => {
    expect(hasCardNumber(digits)).toBe(true);
  });

  test.each([
    ["in fours", "4111 1111 1111 1111"],
    ["with dashes", "4111-1111-1111-1111"],
    ["with no-break spaces and long dashes", "4111\u00a01111\u20131111\u20141111"],
    ["as American Express prints it", "3782 822463 10005"],
    ["as Diners Club prints it", "3056 930902 5904"],
    ["of 19 digits in fours", checked("411111111111111111").replace(/.{4}/gu, "$& ")],
    ["inside a sentence", "paid with 4111 1111 1111 1111."],
    ["before a date", "4111111111111111 12/27"],
    ["after other digits", "order 17 4111111111111111"],
    ["behind an underscore", "pan_4111111111111111"],
    ["in a query", "?pan=4111111111111111&x=1"],
    ["with dots", "4111.1111.1111.1111"],
    ["with slashes", "4111/1111/1111/1111"],
    ["with underscores", "4111_1111_1111_1111"],
    ["with two spaces", "4111  1111  1111  1111"],
    ["with a dash between spaces", "4111 - 1111 - 1111 - 1111"],
    ["with tabs", "4111\t1111\t1111\t1111"],
    ["with spaces that have no width", "4111\u200b1111\u200d1111\u20601111"],
    ["with soft hyphens", "4111\u00ad1111\u00ad1111\u00ad1111"],
    ["in full-width digits", "４１１１　１１１１　１１１１　１１１１"],
    ["in Arabic digits", "٤١١١١١١١١١١١١١١١"],
    ["in mathematical digits", "𝟒𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏𝟏"],
    ["in two groups of eight", "41111111 11111111"],
    ["with zeros before it", "00004111111111111111"],
    ["in fours with a zero before it", "04111 1111 1111 1111"],
    ["in fours with zeros before it and a year behind it", "00004111-1111-1111-1111-2028"],
    ["behind a label", "pan4111111111111111"],
    ["behind a label with a digit", "card1x4111111111111111"],
    ["before a currency", "4111111111111111EUR"],
    ["in fours between letters", "PAN4111 1111 1111 1111USD"],
    ["between characters of another script", "卡号4111111111111111号"],
  ])("is found when it is written %s", (_, text) => {
    expect(hasCardNumber(text)).toBe(true);
  });

  test.each([
    ["a wrong check digit", "4111111111111112"],
    ["a length that the brand does not have", checked("41111111111111")],
    ["a range that no brand has", checked("100000000000000")],
    ["a time in milliseconds", "1767323046000"],
    ["a time in nanoseconds", "1767323046000000000"],
    ["a longer number", `4111111111111111${"0".repeat(8)}`],
    ["digits inside a hash", "a4111111111111111f"],
    ["digits of a UUID behind zeros", "00005401-5442-4056-4444-304422486444"],
    ["digits of a UUID in capitals", "00005401-5442-4056-4444-3044224864AB"],
    ["digits of a fraction", "0.4111111111111111"],
    ["digits in other groups", "41 11 11 11 11 11 11 11"],
    ["four separators in a row", "4111    1111    1111    1111"],
    ["digits inside a hash that has a prefix", "0xa4111111111111111f"],
    ["digits inside an id with digits of its own", "order41x4111111111111111z9"],
    ["digits behind many letters", `${"z".repeat(64)}4111111111111111`],
    ["digits of an IBAN", `NO${ibanCheck("NO", "42222222222")}42222222222`],
    ["an IBAN as it is printed", "DE89 4111 1111 1111 1111 11"],
    ["a fraction of an amount", "4111111111111111.25"],
    ["a date range", "20260131-20260228"],
    ["an address of the Internet", "4111:1111:1111:1111::1"],
    ["a phone number", "+49 1512 345 6789"],
    ["a short text", "4111"],
    ["nothing", ""],
  ])("is not seen in %s", (_, text) => {
    expect(hasCardNumber(text)).toBe(false);
  });

  test("is never found in a UUID", () => {
    const uuids = Array.from({ length: 5_000 }, () => randomUUID());
    const decimal = Array.from({ length: 5_000 }, () => randomUUID().replace(/[a-f]/gu, "4"));
    const behindZeros = decimal.map((uuid) => `0000${uuid.slice(4)}`);
    expect([...uuids, ...decimal, ...behindZeros].filter(hasCardNumber)).toEqual([]);
  });

  test("is found with its check digit and with no other", () => {
    const start = fc.stringMatching(/^4\d{14}$/u);
    fc.assert(
      fc.property(start, fc.integer({ min: 1, max: 9 }), (digits, shift) => {
        const card = checked(digits);
        const wrong = `${digits}${(Number(card.at(-1)) + shift) % 10}`;
        expect([hasCardNumber(card), hasCardNumber(wrong)]).toEqual([true, false]);
      }),
    );
  });

  test.each([
    ["single digits", "1 ".repeat(130_000)],
    ["groups of four", "4111 ".repeat(52_000)],
    ["one group", "4".repeat(260_000)],
    ["one hash", "a4111111111111111".repeat(15_000)],
    ["zeros", "0".repeat(260_000)],
    ["digits of another script", "٤".repeat(130_000)],
    ["numbers with a wrong check digit, in groups", "4111 1111 1111 1112 ".repeat(12_500)],
    ["numbers with a wrong check digit, with dashes", "4111-1111-1111-1112-".repeat(12_500)],
    ["numbers in ids", "4111111111111111abc12 ".repeat(11_000)],
  ])("is missed in 256 KiB of %s", (_, text) => {
    expect(hasCardNumber(text)).toBe(false);
  });
});
