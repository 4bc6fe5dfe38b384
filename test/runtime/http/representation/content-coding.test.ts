import { describe, expect, test } from "vitest";
import {
  chooseCoding,
  chooseMediaType,
  createRepresentations,
  encodeBytes,
} from "../../../../runtime/http/representation/representations.ts";

describe("the coding of a response", () => {
  const rows: readonly (readonly [header: string | undefined, coding: string])[] = [
    [undefined, "identity"],
    ["", "identity"],
    ["gzip", "gzip"],
    ["gzip, zstd, br", "zstd"],
    ["gzip;q=1.0, zstd;q=0.5", "gzip"],
    ["*", "zstd"],
    ["*, zstd;q=0", "gzip"],
    ["gzip;q=0", "identity"],
    ["deflate, br", "identity"],
    ["GZIP ; q=0.3", "gzip"],
    ["gzip;q=7", "identity"],
  ];
  test.each(rows)("for %j is %s", (header, coding) => expect(chooseCoding(header)).toBe(coding));

  test("is none where the bytes are few", async () => {
    expect(await encodeBytes(new Uint8Array(1_023), "gzip")).toMatchObject({ coding: "identity" });
    expect(await encodeBytes(new Uint8Array(1_024), "gzip")).toMatchObject({ coding: "gzip" });
  });
});

describe("the media type of a response", () => {
  const offered = ["application/json", "text/csv"] as const;
  const rows: readonly (readonly [header: string | undefined, type: string])[] = [
    [undefined, "application/json"],
    ["*/*", "application/json"],
    ["text/csv, application/json", "application/json"],
    ["text/*", "text/csv"],
    ["TEXT/CSV", "text/csv"],
    ["text/csv;charset=utf-8", "text/csv"],
    ["application/json; charset=utf-8; q=0.2, text/csv; q=0.1", "application/json"],
    ["application/json;q=0.5, text/csv", "text/csv"],
    ["application/json;q=0, */*", "text/csv"],
    ["*/*;q=0.1, text/csv;q=0.2", "text/csv"],
    ["text/html,application/xhtml+xml,*/*;q=0.8", "application/json"],
  ];
  test.each(rows)("for %j is %s", (header, type) => expect(chooseMediaType(header, offered)).toBe(type));

  test.each(["", "image/png", "*", "application/json;q=0", "text/csv;q=7", "text/csv;q=abc"])(
    "is none for %j",
    (header) =>
      expect(() => chooseMediaType(header, offered)).toThrow("This path returns application/json or text/csv."),
  );
});

test("a body keeps the two representations that were used last", async () => {
  const [representations, body, made] = [createRepresentations(), {}, [] as string[]];
  const read = async (format: string): Promise<void> => {
    await representations.of(body, format, "identity", () => {
      made.push(format);
      return Buffer.from(format);
    });
  };
  for (const format of ["json", "csv", "json", "csv", "json", "ndjson", "json", "csv"]) await read(format);
  expect(made).toEqual(["json", "csv", "ndjson", "csv"]);
});
