import { describe, expect, test } from "vitest";
import { chooseCoding, encodeBytes } from "../../../../runtime/http/representation/representations.ts";

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
