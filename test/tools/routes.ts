import { delimiter, join } from "node:path";
import type { Tool } from "./tool-table.ts";
import { formatVersion, isAtLeast, parseVersion, type Version } from "./version.ts";

/** One way to come by a program, in the order tried. */
export type Route =
  | { readonly kind: "named"; readonly path: string; readonly variable: string }
  | { readonly kind: "found"; readonly path: string }
  | { readonly kind: "cache" }
  | { readonly kind: "debian"; readonly package: string }
  | { readonly kind: "build" };

/**
 * The ways to come by a program, fastest first. Whoever names a path gets that or an error; what merely lies in
 * `KUBEBUILDER_ASSETS` or on PATH is passed over when it is missing or too old.
 */
export function routesTo(
  name: string,
  tool: Tool,
  env: Readonly<Record<string, string | undefined>>,
): readonly Route[] {
  const variable = tool.pathVariable;
  const path = variable === undefined ? undefined : env[variable];
  if (variable !== undefined && path) return [{ kind: "named", path, variable }];
  const looks = tool.versionArgs.length === 0 ? [] : foldersToSearch(tool, env);
  return [
    ...looks.map((folder) => ({ kind: "found" as const, path: join(folder, name) })),
    { kind: "cache" },
    ...(tool.source.debianPackage === undefined
      ? []
      : [{ kind: "debian" as const, package: tool.source.debianPackage }]),
    { kind: "build" },
  ];
}

function foldersToSearch(tool: Tool, env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const assets = tool.folderVariable === undefined ? undefined : env[tool.folderVariable];
  return [assets ?? "", ...(env["PATH"] ?? "").split(delimiter)].filter((folder) => folder.startsWith("/"));
}

/** What is wrong with a program by what it printed about its version; undefined when it will do. */
export function versionProblem(path: string, output: string, minimum: Version): string | undefined {
  const version = parseVersion(output);
  if (version === undefined) return `${path} does not say its version; ${formatVersion(minimum)} or newer is needed`;
  if (isAtLeast(version, minimum)) return undefined;
  return `${path} is version ${formatVersion(version)}; ${formatVersion(minimum)} or newer is needed`;
}
