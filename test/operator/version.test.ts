import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { version } from "../../operator/version.ts";

test("the operator's version is the package's", () => {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  expect(manifest).toMatchObject({ version });
});
