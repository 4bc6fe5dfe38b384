import { describe, expect, test } from "vitest";
import { labelNames } from "../../../../crds/config.ts";
import { forbiddenValue, isForbiddenLabel } from "../../../../runtime/metrics/request/parameters.ts";

describe("a label name (Operational Metrics API §2.3)", () => {
  test.each([
    "userId",
    "user_id",
    "USERID",
    "user-id",
    "user.id",
    "ｕｓｅｒＩｄ",
    "sessionId",
    "session_id",
    "card",
    "cardNumber",
    "raw_card_number",
    "pan",
    "document",
    "documentNumber",
    "raw_document_number",
    "doc_no",
    "passport",
    "creditCard",
  ])("%s is forbidden", (name) => {
    expect(isForbiddenLabel(name)).toBe(true);
  });

  test.each([...labelNames, "panel", "usergroup", "wildcard", "panama"])("%s is not", (name) => {
    expect(isForbiddenLabel(name)).toBe(false);
  });
});

describe("a filter value", () => {
  test.each([
    ["4111111111111111", "card"],
    ["4111 1111 1111 1111", "card"],
    ["4111-1111-1111-1111", "card"],
    ["psp 5500.0000.0000.0004 x", "card"],
    ["378282246310005", "card"],
    ["４１１１１１１１１１１１１１１１", "card"],
    ["AB1234567", "document"],
    ["P12345678", "document"],
    ["078-05-1120", "document"],
    ["529.982.247-25", "document"],
    ["52998224725", "document"],
    ["DE89 3704 0044 0532 0130 00", "document"],
    ["gb82west12345698765432", "document"],
    ["", "empty"],
    ["x".repeat(201), "has 201 characters"],
    ["4111\n1111\n1111\n1111", "card"],
    ["a\u0000", "NUL"],
    ["\ud800", "Unicode"],
  ])("%j is refused: %s", (value, reason) => {
    expect(forbiddenValue(value)).toContain(reason);
  });

  test.each(["two\nlines", "a\ttab", "carriage\r\nreturn", "bell\u0007"])(
    "%j is a value like others: stores hold such labels",
    (value) => {
      expect(forbiddenValue(value)).toBeUndefined();
    },
  );

  test.each([
    "eu",
    'a"b\\c',
    "4111111111111112",
    "2026-01-01",
    "v1.2.3",
    "000000000000",
    "12345678901",
    "11111111111",
    "52998224726",
    "DE89370400440532013001",
    "B12",
    "v1234567",
    "DE",
    "übermorgen",
    "*",
  ])("%j is allowed", (value) => {
    expect(forbiddenValue(value)).toBeUndefined();
  });
});
