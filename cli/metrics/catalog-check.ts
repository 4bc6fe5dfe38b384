import type { CatalogCheck, CatalogChecksAnswer } from "../../api/catalog.ts";
import { type Connect, connectionFlags, connectionOf } from "../api/connection.ts";
import { type Column, createOutput, outputFlag, type OutputFormat, outputFormatOf } from "../api/output.ts";
import { sendForJson } from "../api/request.ts";
import { withApi } from "../api/with-api.ts";
import type { Command, ExitName } from "../command-line/command.ts";
import { type Given, UsageError } from "../command-line/flags.ts";

interface CatalogCheckArguments {
  readonly connect: Connect;
  /** A folder or a file to check instead of a server. */
  readonly place: string | undefined;
  /** URLs of stores by name, instead of those of the catalogs. */
  readonly urls: ReadonlyMap<string, string>;
  readonly output: OutputFormat;
}

/** `heliograph catalog check` */
export const catalogCheckCommand: Command<CatalogCheckArguments> = {
  summary:
    "Lists how metrics compare with the series of their stores, for CI; with PATH, those of a folder, a file or " +
    "standard input (`-`).",
  operands: [{ name: "PATH", isOptional: true }],
  flags: [
    {
      name: "store",
      value: "NAME=URL",
      help: "With PATH, the URL of a Prometheus-compatible store instead of that of the catalogs.",
      variable: "HELIOGRAPH_STORE",
      multiple: true,
    },
    outputFlag,
    ...connectionFlags,
  ],
  read: (given, [place]) => {
    const urls = urlsOf(given);
    if (place === undefined && urls.size > 0) throw new UsageError("catalog check requires PATH with --store.");
    return { connect: connectionOf(given), place, urls, output: outputFormatOf(given) };
  },
  run: async ({ connect, place, urls, output }, { environment }) => {
    const checks = place === undefined ? await checksOfServer(connect) : await checksOfFolder(place, urls);
    await createOutput(output, environment).list(columns, [checks]);
    return exitOf(checks, place !== undefined);
  },
};

/** @throws UsageError */
function urlsOf(given: Given): ReadonlyMap<string, string> {
  return new Map(
    given.texts("store").map((text): readonly [string, string] => {
      const { name, url } = /^(?<name>[^=]+)=(?<url>https?:\/\/.+)$/u.exec(text)?.groups ?? {};
      if (name !== undefined && url !== undefined && URL.canParse(url)) return [name, url];
      throw new UsageError(`--store must be a name and a URL such as eu=http://127.0.0.1:9090, not ${text}.`);
    }),
  );
}

async function checksOfServer(connect: Connect): Promise<readonly CatalogCheck[]> {
  return withApi(connect, async (connection) => {
    const { data } = await sendForJson<CatalogChecksAnswer>(connection, { path: "/v1/metrics/catalog/checks" });
    return data;
  });
}

async function checksOfFolder(place: string, urls: ReadonlyMap<string, string>): Promise<readonly CatalogCheck[]> {
  return (await import("../configuration/check-stores.ts")).checkStores(place, urls);
}

/**
 * A metric that is not known to match does not pass; one that cannot be compared does.
 *
 * @param isOffline tells what is unknown from what differs
 */
export function exitOf(checks: readonly Pick<CatalogCheck, "status">[], isOffline: boolean): ExitName {
  const has = (wanted: CatalogCheck["status"]): boolean => checks.some(({ status }) => status === wanted);
  if (has("False")) return "problems";
  if (!has("Unknown")) return "done";
  return isOffline ? "undecided" : "problems";
}

const columns: readonly Column<CatalogCheck>[] = [
  { title: "METRIC", cell: ({ metric_id: id }) => id },
  { title: "STATUS", cell: ({ status }) => status },
  { title: "CHECK", cell: ({ check }) => check ?? "" },
  { title: "MESSAGE", cell: ({ message }) => message },
];
