import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  defaultAlgorithms,
  defaultSettings,
  settingsSchema,
} from "../../../runtime/config/settings/settings-schema.ts";

interface SchemaNode {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
}

type Row = readonly [setting: string, standard: string, meaning: string];

function rowsOf({ properties = {} }: SchemaNode, path: string, standards: unknown): readonly Row[] {
  return Object.entries(properties).flatMap(([name, node]): readonly Row[] => {
    const field = path + name;
    const standard: unknown = Reflect.get(Object(standards), name);
    if (node.properties !== undefined) return rowsOf(node, `${field}.`, standard);
    const own: Row = [field, standard === undefined ? "" : JSON.stringify(standard), node.description ?? ""];
    return [own, ...rowsOf(node.items ?? {}, `${field}[].`, { algorithms: defaultAlgorithms })];
  });
}

test("the page of the settings holds every setting with its default, and no other", () => {
  const page = readFileSync(new URL("../../../docs/reference/settings.md", import.meta.url), "utf8");
  const rowPattern = /^\| `(?<setting>[^`]+)` \| (?:`(?<standard>[^`]+)`)? ?\| (?<meaning>[^|]+) \|$/gmu;
  const documented = [...page.matchAll(rowPattern)].map(({ groups }) => [
    groups?.["setting"],
    groups?.["standard"] ?? "",
    groups?.["meaning"],
  ]);
  expect(documented).toEqual(rowsOf(settingsSchema as SchemaNode, "", defaultSettings));
});
