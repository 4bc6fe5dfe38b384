import { describe, expect, test } from "vitest";
import { isShipped, productionPackages, shippedPackages } from "./production-packages.ts";

test("productionPackages leaves out the project itself, what only work on it needs, types, and what is optional", () => {
  const packages = {
    "": {},
    "node_modules/pino": { version: "10.0.0" },
    "node_modules/vitest": { version: "5.0.0", dev: true },
    "node_modules/@types/node": { version: "24.0.0" },
    "node_modules/fsevents": { version: "2.0.0", optional: true },
    "node_modules/ajv/node_modules/deep": { version: "1.0.0" },
  };
  expect(productionPackages({ packages })).toEqual(["node_modules/ajv/node_modules/deep", "node_modules/pino"]);
});

test("shippedPackages also has what the console holds, in releases with a console", () => {
  const packages = { "node_modules/pino": { version: "10.0.0" }, "node_modules/vite": { version: "8.0.0", dev: true } };
  const dev = { version: "1.0.0", dev: true };
  expect(shippedPackages({ packages })).toEqual(["node_modules/pino"]);
  expect(shippedPackages({ packages: { ...packages, "node_modules/preact": dev, "node_modules/uplot": dev } })).toEqual(
    ["node_modules/pino", "node_modules/preact", "node_modules/uplot"],
  );
});

describe("isShipped", () => {
  test.each(["index.js", "lib/a.cjs", "lib/b.mjs", "package.json", "LICENSE", "lib/schema.json"])(
    "keeps %s",
    (path) => {
      expect(isShipped(path)).toBe(true);
    },
  );

  test.each(["index.d.ts", "lib/a.d.cts", "lib/a.js.map", "lib/a.ts", "index.mts", "tsconfig.tsbuildinfo"])(
    "leaves out %s",
    (path) => {
      expect(isShipped(path)).toBe(false);
    },
  );
});
