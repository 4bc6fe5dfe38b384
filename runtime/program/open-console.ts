import { hash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { consoleCodings, consoleRoutes, type ConsoleFile, type ConsoleFiles } from "../http/routes/console.ts";
import type { Route } from "../http/server/route.ts";
import { version } from "../version.ts";
import type { ProgramContext } from "./program-plan.ts";

/** In a checkout, in the image and in the npm package. */
const builtFolder = fileURLToPath(new URL("../../dist/console", import.meta.url));

const filesMax = 512;
const totalBytesMax = 16 * 1024 * 1024;
const tagLength = 22;

/** Endings of the files that the build writes beside each file. */
const endings = { br: ".br", gzip: ".gz" } as const satisfies Record<(typeof consoleCodings)[number], string>;

const mediaTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".md": "text/plain; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};

/** The routes of the console; none where the settings turn it off. A console that is not built stops no start. */
export async function openConsole({ plan, settings, prepared }: ProgramContext): Promise<readonly Route[]> {
  if (!settings.console.enabled) return [];
  const files = await readConsoleFiles(builtFolder).catch((error: unknown) => {
    plan.log.warn({ err: error, folder: builtFolder }, "files of the console not readable");
    return undefined;
  });
  const proveOrigin = prepared.issuers.find((issuer) => issuer.proveOrigin !== undefined)?.proveOrigin;
  return consoleRoutes({ files, settings: settings.console, proveOrigin, version });
}

/**
 * The files of a built console with the codings that the build wrote beside them. Links are left out.
 * @returns undefined when there is no such folder
 * @throws Error when it holds too much, or cannot be read
 */
export async function readConsoleFiles(folder: string): Promise<ConsoleFiles | undefined> {
  const names = await namesIn(folder);
  if (names === undefined) return undefined;
  if (names.length > filesMax) throw new Error(`${folder} holds more than ${filesMax} files`);
  let bytes = 0;
  for (const name of names) bytes += (await stat(join(folder, name))).size;
  if (bytes > totalBytesMax) throw new Error(`${folder} holds more than ${totalBytesMax} bytes`);
  const codedNames = new Set(names.flatMap((name) => Object.values(endings).map((ending) => name + ending)));
  const files = names
    .filter((name) => !codedNames.has(name))
    .map(async (name): Promise<readonly [string, ConsoleFile]> => [name, await fileOf(folder, name, names)]);
  return new Map(await Promise.all(files));
}

async function namesIn(folder: string): Promise<readonly string[] | undefined> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

async function fileOf(folder: string, name: string, names: readonly string[]): Promise<ConsoleFile> {
  const codings = [
    ["identity", name] as const,
    ...consoleCodings.map((coding) => [coding, name + endings[coding]] as const),
  ];
  const present = codings.filter(([, path]) => names.includes(path));
  const read = present.map(async ([coding, path]) => {
    const bytes = await readFile(join(folder, path));
    return [coding, { bytes, etag: `"${hash("sha256", bytes, "base64url").slice(0, tagLength)}"` }] as const;
  });
  return {
    mediaType: mediaTypes[extname(name)] ?? "application/octet-stream",
    codings: new Map(await Promise.all(read)),
  };
}
