import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseAst } from "vitest/node";
import { schemas } from "../../api/schemas.ts";
import allowed from "./shapes.allowed.json" with { type: "json" };
import { sourceFiles } from "./source-imports.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Members of an object type, by which it is recognized. */
interface Shape {
  readonly where: string;
  readonly members: readonly string[];
}

/** Fewer members than these say nothing. */
const membersMin = 3;

/** Every object of the schemas, inner ones included. */
function schemaShapes(value: unknown, where: string): readonly Shape[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => schemaShapes(item, where));
  return Object.entries(value).flatMap(([keyword, inner]: readonly [string, unknown]) =>
    keyword === "properties"
      ? [
          { where, members: Object.keys(inner as object).toSorted() },
          ...Object.entries(inner as object).flatMap(([name, member]) => schemaShapes(member, `${where}.${name}`)),
        ]
      : schemaShapes(inner, where),
  );
}

interface Node {
  readonly type?: string;
  readonly id?: { readonly name?: string };
  readonly key?: { readonly name?: string; readonly value?: unknown };
  readonly body?: { readonly body?: readonly Node[] };
  readonly members?: readonly Node[];
}

/** Every interface and every literal of an object type of a file. */
function writtenShapes(file: string): readonly Shape[] {
  const found: Shape[] = [];
  const visit = (node: unknown, name: string): void => {
    if (Array.isArray(node)) {
      for (const item of node) visit(item, name);
      return;
    }
    if (typeof node !== "object" || node === null) return;
    const own = (node as Node).id?.name ?? name;
    const listed = membersOfType(node);
    if (listed !== undefined) found.push({ where: `${file}: ${own}`, members: listed.flatMap(nameOf).toSorted() });
    for (const value of Object.values(node)) visit(value, own);
  };
  const text = readFileSync(join(root, file), "utf8");
  visit(parseAst(text, { lang: file.endsWith("x") ? "tsx" : "ts" }, file), "");
  return found.filter(({ members }) => members.length >= membersMin);
}

/** The members of an interface or of a literal of an object type; undefined for anything else. */
function membersOfType({ type, body, members }: Node): readonly Node[] | undefined {
  if (type === "TSInterfaceDeclaration") return body?.body;
  return type === "TSTypeLiteral" ? members : undefined;
}

const nameOf = ({ key }: Node): readonly string[] => {
  const name = key?.name ?? key?.value;
  return typeof name === "string" ? [name] : [];
};

const ofApi = Object.entries(schemas).flatMap(([name, schema]) => schemaShapes(schema, name));
const sides = ["cli", "console", "runtime"] as const;
const bySide = sides.map((side) => sourceFiles(root, [side]).flatMap(writtenShapes));
const isSame = (a: Shape, b: Shape): boolean => a.members.join() === b.members.join();
/** True for a part of a response that is written again. Names with an underscore are those of the API. */
const isPart = (own: Shape, whole: Shape): boolean =>
  own.members.length > membersMin &&
  own.members.some((name) => name.includes("_")) &&
  own.members.every((name) => whole.members.includes(name));

test("no type repeats a schema of the API, apart from those of a list that only shrinks", () => {
  const repeated = bySide
    .flat()
    .filter((own) => ofApi.some((other) => isSame(own, other) || isPart(own, other)))
    .map(({ where }) => where);
  expect(ofApi.length).toBeGreaterThan(150);
  expect([...new Set(repeated)].toSorted()).toEqual(allowed.schemas);
});

test("no wire form of one side has the members of one of another side, apart from a list that only shrinks", () => {
  const pairs = bySide.flatMap((own, index) =>
    own.flatMap((one) =>
      bySide
        .slice(index + 1)
        .flat()
        .filter((other) => isSame(one, other) && one.members.some((name) => name.includes("_")))
        .map((other) => `${one.where} = ${other.where}`),
    ),
  );
  expect([...new Set(pairs)].toSorted()).toEqual(allowed.pairs);
});
