import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { keptFiles, textOf } from "../architecture/named-files.ts";

/** Pages that programs, definitions, charts or alerts named before they moved, and where each is now. */
const moved: readonly (readonly [was: string, is: string])[] = [
  ["docs/api.md", "docs/reference/api.md"],
  ["docs/cli.md", "docs/reference/cli.md"],
  ["docs/errors.md", "docs/reference/errors.md"],
  ["docs/install.md", "docs/how-to/install.md"],
  ["docs/kubectl.md", "docs/how-to/kubectl.md"],
  ["docs/operator.md", "docs/reference/operator.md"],
  ["docs/resources.md", "docs/reference/resources.md"],
  ["docs/runbooks/processes-restart.md", "docs/runbooks/pod-unhealthy.md"],
  ["docs/settings.md", "docs/reference/settings.md"],
];

/** What reaches an installation: programs, definitions and the chart, whose alerts name runbooks. */
const shipped = keptFiles.filter(
  (path) => /^(?!test\/|docs\/)[\w-]+\//u.test(path) && /\.(?:tsx?|js|ya?ml|tpl|txt|md)$/u.test(path),
);

describe("pages that shipped files name", () => {
  test("exist", () => {
    const named = shipped.flatMap((file) =>
      [...textOf(file).matchAll(/(?<![\w/.-])docs\/(?:[\w-]+\/)*[\w-]+\.md\b/gu)].map(([path]) => ({ file, path })),
    );
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter(({ path }) => !keptFiles.includes(path))).toEqual([]);
  });

  test.each(moved)("%s links to its new place", (was, is) => {
    const [, target = ""] = /\]\((?<target>[^)]+)\)/u.exec(textOf(was)) ?? [];
    expect(join(dirname(was), target)).toBe(is);
    expect(keptFiles).toContain(is);
  });

  test("include a runbook for the address that alerts have by default", () => {
    const values = textOf("charts/heliograph/values.yaml");
    expect(values).toContain("runbookUrl: https://heliograph.dev/docs/runbooks");
    expect(keptFiles.filter((path) => path.startsWith("docs/runbooks/")).length).toBeGreaterThan(25);
  });
});
