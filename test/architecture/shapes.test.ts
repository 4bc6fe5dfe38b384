import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, expectTypeOf, test } from "vitest";
import { parseAst } from "vitest/node";
import type { PublicKeySet } from "../../api/partners.ts";
import type { Replay, ReplayRequest } from "../../api/replays.ts";
import { schemas } from "../../api/schemas.ts";
import type { ReplaySelection, ReplayState } from "../../runtime/recipient/resync.ts";
import type { PublicKeySet as SentKeySet } from "../../runtime/webhooks/signing/keys.ts";
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
  readonly id?: { readonly name?: string; readonly typeAnnotation?: { readonly typeAnnotation?: Node } | null };
  readonly init?: unknown;
  readonly value?: unknown;
  readonly literal?: Node;
  readonly elements?: readonly (Node | null)[];
  readonly types?: readonly Node[];
  readonly key?: { readonly name?: string; readonly value?: unknown };
  readonly body?: { readonly body?: readonly Node[] };
  readonly members?: readonly Node[];
}

type Visit = (node: Node, name: string) => void;

/** Calls back for each node of a file, with the name of the declaration around it. */
function visitNodes(file: string, visit: Visit): void {
  const walk = (node: unknown, name: string): void => {
    if (Array.isArray(node)) for (const item of node) walk(item, name);
    if (Array.isArray(node) || typeof node !== "object" || node === null) return;
    const own = (node as Node).id?.name ?? name;
    visit(node, own);
    for (const value of Object.values(node)) walk(value, own);
  };
  const text = readFileSync(join(root, file), "utf8");
  walk(parseAst(text, { lang: file.endsWith("x") ? "tsx" : "ts" }, file), "");
}

/** Every interface and every literal of an object type of a file. */
function writtenShapes(file: string): readonly Shape[] {
  const found: Shape[] = [];
  visitNodes(file, (node, name) => {
    const listed = membersOfType(node);
    if (listed !== undefined) found.push({ where: `${file}: ${name}`, members: listed.flatMap(nameOf).toSorted() });
  });
  return found.filter(({ members }) => members.length >= membersMin);
}

/**
 * Every list and every union of words of a file, without variables that have the type of a list of the API: it is
 * checked to be the same, and the console may import no more than the type.
 */
function writtenLists(file: string): readonly Shape[] {
  const sameByType = new Set<unknown>();
  const found: Shape[] = [];
  visitNodes(file, (node, name) => {
    if (node.id?.typeAnnotation?.typeAnnotation?.type === "TSTypeReference") sameByType.add(node.init);
    const words = sameByType.has(node) ? [] : wordsOf(node);
    if (words.length >= membersMin) found.push({ where: `${file}: ${name}`, members: words.toSorted() });
  });
  return found;
}

/** The words of a list or of a union, if it has nothing else. */
function wordsOf({ type, elements = [], types = [] }: Node): readonly string[] {
  const items = type === "TSUnionType" ? types.map(({ literal }) => literal) : elements;
  const words = items.flatMap((item) => (typeof item?.value === "string" ? [item.value] : []));
  return words.length === items.length ? words : [];
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

/** Every list of words of the schemas. */
function schemaLists(value: unknown, where: string): readonly Shape[] {
  if (typeof value !== "object" || value === null) return [];
  const { enum: words } = value as { readonly enum?: readonly string[] };
  const own = words === undefined ? [] : [{ where, members: words.toSorted() }];
  return [...own, ...Object.entries(value).flatMap(([name, inner]) => schemaLists(inner, `${where}.${name}`))];
}

const ofApi = Object.entries(schemas).flatMap(([name, schema]) => schemaShapes(schema, name));
const sides = ["cli", "console", "runtime"] as const;
const bySide = sides.map((side) => sourceFiles(root, [side]).flatMap(writtenShapes));
const isSame = (a: Shape, b: Shape): boolean => a.members.join() === b.members.join();
/** True for a part of a response that is written again. Names with an underscore are those of the API. */
const isPart = (own: Shape, whole: Shape): boolean =>
  own.members.length > membersMin &&
  own.members.some((name) => name.includes("_")) &&
  own.members.every((name) => whole.members.includes(name));
const places = (shapes: readonly Shape[]): readonly string[] => [...new Set(shapes.map(({ where }) => where))];

test("no type repeats a schema of the API, apart from those with a reason", () => {
  const repeated = bySide.flat().filter((own) => ofApi.some((other) => isSame(own, other) || isPart(own, other)));
  expect(ofApi.length).toBeGreaterThan(150);
  expect(places(repeated).toSorted()).toEqual(Object.keys(allowed.types));
});

test("no list repeats the words of a schema of the API, apart from those with a reason", () => {
  const listsOfApi = Object.entries(schemas).flatMap(([name, schema]) => schemaLists(schema, name));
  const written = sourceFiles(root, sides).flatMap(writtenLists);
  const repeated = written.filter((own) => listsOfApi.some((other) => isSame(own, other)));
  expect(listsOfApi.length).toBeGreaterThan(30);
  expect(places(repeated).toSorted()).toEqual(Object.keys(allowed.lists));
});

test("types that ship without the API are those of the API", () => {
  expectTypeOf<ReplaySelection>().toEqualTypeOf<Omit<ReplayRequest, "dry_run">>();
  expectTypeOf<ReplayState>().toEqualTypeOf<Omit<Replay, "created_at" | "expected" | "acknowledged">>();
  expectTypeOf<SentKeySet>().toEqualTypeOf<PublicKeySet>();
});

test("no wire form of one side has the members of one of another side", () => {
  const pairs = bySide.flatMap((own, index) =>
    own.flatMap((one) =>
      bySide
        .slice(index + 1)
        .flat()
        .filter((other) => isSame(one, other) && one.members.some((name) => name.includes("_")))
        .map((other) => `${one.where} = ${other.where}`),
    ),
  );
  expect(pairs).toEqual([]);
});
