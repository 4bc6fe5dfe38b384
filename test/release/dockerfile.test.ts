import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { recipeOf } from "./dockerfile.ts";

describe("recipeOf", () => {
  test("reads the product's Dockerfile", async () => {
    const recipe = recipeOf(await readFile("Dockerfile", "utf8"), { VERSION: "1.2.3", REVISION: "abc" });
    expect(recipe).toEqual({
      base: "gcr.io/distroless/nodejs24-debian13:nonroot",
      config: {
        labels: {
          "org.opencontainers.image.title": "heliograph",
          "org.opencontainers.image.description": expect.stringContaining(", runtime and commands"),
          "org.opencontainers.image.licenses": "Apache-2.0",
          "org.opencontainers.image.version": "1.2.3",
          "org.opencontainers.image.revision": "abc",
          "dev.heliograph.sbom": "/app/sbom.cdx.json",
        },
        env: { PATH: expect.stringMatching(/^\/nodejs\/bin:/u), NODE_ENV: "production" },
        workdir: "/app",
        user: "65532:65532",
        ports: ["8080", "9090"],
        entrypoint: ["node", "/app/cli/heliograph.js"],
        cmd: ["--help"],
      },
    });
  });

  test("takes another base", async () => {
    const args = { BASE_IMAGE: "example.com/node:24" };
    expect(recipeOf(await readFile("Dockerfile", "utf8"), args).base).toBe("example.com/node:24");
  });

  test.each([
    ["a command", "FROM a\nRUN true\n", "RUN"],
    ["a second base", "FROM a\nFROM b\n", "FROM twice"],
    ["single files", "FROM a\nCOPY x /x\n", "copies x /x"],
  ])("refuses %s, which one layer for every platform cannot have", (_what, text, named) => {
    expect(() => recipeOf(text, {})).toThrow(named);
  });
});
