import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { textOf } from "./named-files.ts";
import { rooms, roomOf } from "./rooms.ts";
import { findRing, importsOf, readImports, sourceFiles } from "./source-imports.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folders = ["api", "cli", "console", "crds", "demo", "kube", "limits", "network", "operator", "runtime"];
const imports = readImports(root, folders);

/** The only folders that may import each outside technology. */
const packageOwners: Readonly<Record<string, readonly string[]>> = {
  "@kubernetes/client-node": ["kube/"],
  fastify: ["runtime/http/"],
  "@nats-io/transport-node": ["runtime/nats/"],
  "@nats-io/jetstream": ["runtime/nats/"],
  "@nats-io/kv": ["runtime/nats/"],
  "@nats-io/nats-core": ["runtime/nats/"],
  jose: ["cli/", "runtime/http/", "runtime/webhooks/"],
  oauth4webapi: ["console/"],
  preact: ["console/"],
  re2js: ["crds/re2.ts"],
  uplot: ["console/"],
  vite: ["console/"],
};

/** Imports that leave a room, once each. */
const between = imports
  .filter(({ isPackage }) => !isPackage)
  .map(({ from, to }) => ({ from, to, room: roomOf(from), other: roomOf(to) }))
  .filter(({ room, other }) => room !== other);

const allows = (room: string | undefined, other: string | undefined): boolean => {
  // The shapes of requests and responses are for both of their ends.
  if (other === "api/") return /^(?:cli|console|runtime)\//u.test(room ?? "");
  const allowed = rooms.get(room ?? "") ?? [];
  return other !== undefined && allowed.some((name) => name === other || (isWhole(name) && other.startsWith(name)));
};

/** Names that stand for all rooms of a folder. */
const isWhole = (name: string): boolean => name === "crds/" || name === "kube/";

/** True if an import of the file has more than types. */
function importsValueOf(text: string, file: string): boolean {
  const name = file.slice(file.lastIndexOf("/"));
  return [...text.matchAll(/^import (?!type )[^;]*? from "([^"]+)"/gmu)].some(([, from = ""]) => from.endsWith(name));
}

describe("imports", () => {
  test("leave a room only for those that it may import", () => {
    const breaches = between.filter(({ room, other }) => !allows(room, other));
    expect(breaches.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  test("lead from later rooms to earlier ones, so that rooms form no circle", () => {
    const order = [...rooms.keys()];
    const breaches = between.filter(({ room, other }) => order.indexOf(room ?? "") <= order.indexOf(other ?? ""));
    expect(breaches.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  test("use every permission that a room has", () => {
    const unused = [...rooms].flatMap(([room, allowed]) =>
      allowed
        .filter(
          (name) =>
            !between.some(
              ({ room: from, other }) =>
                from === room && (other === name || (isWhole(name) && other?.startsWith(name))),
            ),
        )
        .map((name) => `${room} may import ${name}`),
    );
    expect(unused).toEqual([]);
  });

  test("of every file have a room to come from", () => {
    expect(sourceFiles(root, folders).filter((file) => roomOf(file) === undefined)).toEqual([]);
  });

  test("leave each outside technology to the folder that owns it", () => {
    const breaches = imports.filter(({ from, to, isPackage }) => {
      const owners = isPackage ? packageOwners[to] : undefined;
      return owners !== undefined && !owners.some((owner) => from.startsWith(owner));
    });
    expect(breaches.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  test("of crds/ name no module of Node that does I/O", () => {
    const pure = ["node:crypto", "node:net", "node:util", "node:zlib"];
    const own = imports.filter(({ from, to }) => from.startsWith("crds/") && to.startsWith("node:"));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter(({ to }) => !pure.includes(to))).toEqual([]);
  });

  test("of runtime/prometheus/ name neither the stores nor the printer of PromQL, and no room of it may", () => {
    const governed = /^runtime\/(?:stores|metrics\/promql)\//u;
    const own = imports.filter(({ from }) => from.startsWith("runtime/prometheus/"));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter(({ to }) => governed.test(to))).toEqual([]);
    const allowed = [...rooms].filter(([room]) => room.startsWith("runtime/prometheus/")).flatMap(([, names]) => names);
    expect(allowed.filter((name) => governed.test(name))).toEqual([]);
  });

  test("join the console and the rest nowhere", () => {
    const isConsole = (file: string): boolean => /^console\/(?!vite\.config\.ts$)/u.test(file);
    const own = imports.filter(({ from }) => isConsole(from));
    expect(own.length).toBeGreaterThan(0);
    expect(own.filter(({ to }) => to.startsWith("node:"))).toEqual([]);
    const project = imports.filter(({ isPackage }) => !isPackage);
    const isShape = (file: string): boolean => file.startsWith("api/");
    expect(project.filter(({ from, to }) => isConsole(from) !== isConsole(to) && !isShape(to))).toEqual([]);
    const values = own.filter(({ from, to }) => isShape(to) && importsValueOf(textOf(from), to));
    expect(values.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  test("form no ring", () => {
    expect(findRing(imports)).toBeUndefined();
  });

  test.each([1, 2, 3, 4])("form no ring of folders at depth %d", (depth) => {
    const unitOf = (file: string): string => file.split("/").slice(0, depth).join("/");
    const edges = imports
      .map(({ from, to, isPackage }) => ({ from: unitOf(from), to: isPackage ? to : unitOf(to), isPackage }))
      .filter(({ from, to }) => from !== to);
    expect(edges.length).toBeGreaterThan(0);
    expect(findRing(edges)).toBeUndefined();
  });

  test("of tests are never taken by the product", () => {
    expect(imports.filter(({ to }) => to.startsWith("test/"))).toEqual([]);
  });
});

describe("files", () => {
  test("of crds/ read no clock", () => {
    const files = sourceFiles(root, ["crds"]);
    expect(files.filter((file) => /\bDate\.now\(|\bnew Date\(\)|\bperformance\./u.test(textOf(file)))).toEqual([]);
  });

  test("carry no barrel and no junk-drawer name", () => {
    const forbidden = /(?:^|\/)(?:index|utils?|helpers?|common|misc)\.tsx?$/u;
    expect(sourceFiles(root, [...folders, "test"]).filter((file) => forbidden.test(file))).toEqual([]);
  });
});

describe("the import reader", () => {
  test("reads static, type, re-exporting, bare and dynamic imports", () => {
    const text = [
      'import { a } from "../b/c.ts";',
      'import type {\n  D,\n} from "./d.ts";',
      'export { e } from "./e.ts";',
      'import "node:fs";',
      'const f = await import("@scope/name/deep");',
    ].join("\n");
    expect(importsOf("x/y/z.ts", text).map(({ to }) => to)).toEqual([
      "x/b/c.ts",
      "x/y/d.ts",
      "x/y/e.ts",
      "node:fs",
      "@scope/name",
    ]);
  });

  test("finds a ring through three files", () => {
    const edge = (from: string, to: string) => ({ from, to, isPackage: false });
    expect(findRing([edge("a", "b"), edge("b", "c"), edge("c", "a"), edge("z", "a")])).toEqual(["a", "b", "c"]);
  });
});
