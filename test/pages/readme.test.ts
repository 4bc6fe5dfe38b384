import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { validateResource } from "../../crds/validate.ts";
import { textOf } from "../architecture/named-files.ts";

const page = textOf("README.md");
const sectionOf = (title: string): string => page.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";

describe("README.md", () => {
  test("shows a valid resource of ten lines or so", () => {
    const yaml = /```yaml\n(?<yaml>[\s\S]*?)```/u.exec(sectionOf("What it looks like"))?.groups?.["yaml"] ?? "";
    expect(yaml.trimEnd().split("\n").length).toBeLessThanOrEqual(12);
    expect(validateResource(withNamespace(parse(yaml)))).toMatchObject({ problems: [] });
  });

  test("compares products in tables whose every cell links to its source", () => {
    const rows = sectionOf("How it compares")
      .split("\n")
      .filter((line) => /^\| (?!---|Webhook sender|Metrics front end)/u.test(line));
    expect(rows.length).toBeGreaterThan(6);
    const cells = rows.flatMap((row) => row.split(" | ").slice(1));
    expect(cells.filter((cell) => !/\]\((?:https:\/\/|docs\/)/u.test(cell))).toEqual([]);
  });
});

function withNamespace(value: unknown): unknown {
  const object = Object(value) as { metadata?: object };
  return { ...object, metadata: { ...object.metadata, namespace: "team" } };
}
