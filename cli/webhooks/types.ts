import {
  type EventTypeDetail,
  type EventTypeState,
  eventTypeStates,
  type EventTypeSummary,
  type EventTypeVersion,
} from "../../api/events.ts";
import { HttpError } from "../api/http-error.ts";
import { type Column, createOutput, type Output } from "../api/output.ts";
import { pagesOf, sendForJson } from "../api/request.ts";
import { connectionFlags, connectionOf } from "../api/connection.ts";
import { apiArguments, type ApiArguments, apiFlags, withApi } from "../api/with-api.ts";
import { type Command, CommandError, type ExitName } from "../command-line/command.ts";
import { type Flag, type Given, oneOf } from "../command-line/flags.ts";
import { plain, say, type Tone } from "../command-line/terminal.ts";

const folderFlag: Flag = {
  name: "folder",
  value: "PATH",
  help: "Folder or file with event catalogs, or `-` for standard input; read instead of a server.",
};
const pathOf = (type: string): string => `/webhooks/types/${encodeURIComponent(type).replaceAll(".", "%2E")}`;
const notFoundStatus = 404;

interface TypeFilter {
  readonly prefix: string | undefined;
  readonly search: string | undefined;
  readonly state: EventTypeState | undefined;
}

/** Declared event types: those that a token may see, or all of a folder. */
export interface TypeSource {
  readonly pages: (
    filter: TypeFilter,
  ) => AsyncIterable<readonly EventTypeSummary[]> | Iterable<readonly EventTypeSummary[]>;
  /** Undefined for a type that is not declared, or that the token may not see. */
  readonly find: (type: string) => Promise<EventTypeDetail | undefined>;
}

export interface SourceArguments extends ApiArguments {
  readonly folder: string | undefined;
}

export const sourceFlags: readonly Flag[] = [folderFlag, ...apiFlags];

/** @throws UsageError */
export function sourceArguments(given: Given): SourceArguments {
  return { ...apiArguments(given), folder: given.optional("folder") };
}

/** Runs the work of a command with its source. @throws CommandError, StartError */
export async function withSource<T extends ExitName>(
  { folder, connect }: Pick<SourceArguments, "folder" | "connect">,
  work: (source: TypeSource) => Promise<T>,
): Promise<T> {
  if (folder !== undefined) return work(await folderSource(folder));
  return withApi(connect, (connection) =>
    work({
      pages: (filter) =>
        pagesOf<EventTypeSummary>(
          connection,
          { path: "/webhooks/types", query: { ...filter } },
          { limit: Number.POSITIVE_INFINITY },
        ),
      find: (type) =>
        sendForJson<EventTypeDetail>(connection, { path: pathOf(type) }).catch((error: unknown) => {
          if (error instanceof HttpError && error.status === notFoundStatus) return undefined;
          throw error;
        }),
    }),
  );
}

/** @throws StartError `folder` */
async function folderSource(place: string): Promise<TypeSource> {
  const { readConfiguration } = await import("../configuration/read-configuration.ts");
  const { declaredTypes } = await import("../../crds/declared-types.ts");
  const { createEventTypes } = await import("../../runtime/webhooks/history/event-types.ts");
  const { config, problems } = await readConfiguration(place);
  if (problems.length > 0) say(`${place} has problems; \`heliograph validate ${place}\` lists them.`);
  const declared = declaredTypes(config);
  const types = createEventTypes({ declared: () => declared, partners: () => [], now: Date.now });
  const all = { tenants: ["*"] };
  return {
    pages: ({ prefix = "", search = "", state }) => {
      const words = search.toLowerCase().split(/\s+/u).filter(Boolean);
      const page = { ...all, prefix, search: words, skipped: 0, limit: declared.size };
      return [types.page(state === undefined ? page : { ...page, state }).items];
    },
    find: async (type) => (declared.has(type) ? types.find(type, all) : undefined),
  };
}

const tones: Readonly<Record<EventTypeState, Tone>> = { Active: "good", Deprecated: "waiting", Retired: "bad" };

const typeColumns: readonly Column<EventTypeSummary>[] = [
  { title: "TYPE", cell: ({ type }) => type },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => tones[state] },
  { title: "VERSIONS", cell: ({ versions }) => versions.map(({ version }) => version).join(",") },
  { title: "OWNER", cell: ({ owner }) => owner },
  { title: "DESCRIPTION", cell: ({ description }) => description },
  { title: "CONTACT", cell: ({ contact }) => contact, isWide: true },
  { title: "CATALOG", cell: ({ catalog }) => catalog, isWide: true },
];

/** `heliograph types list` */
export const listTypesCommand: Command<SourceArguments & { readonly filter: TypeFilter }> = {
  summary: "Lists declared event types visible to the token, or of a folder.",
  flags: [
    { name: "prefix", value: "TEXT", help: "Only types that start with this text." },
    { name: "search", value: "TEXT", help: "Only types whose name, description or owner contains this text." },
    { name: "state", value: "STATE", help: `Only types in this state: ${eventTypeStates.join(", ")}.` },
    ...sourceFlags,
  ],
  read: (given) => ({
    ...sourceArguments(given),
    filter: {
      prefix: given.optional("prefix"),
      search: given.optional("search"),
      state: given.optional("state") === undefined ? undefined : oneOf(given, "state", eventTypeStates),
    },
  }),
  run: (args, { environment }) =>
    withSource(args, async (source) => {
      const output = createOutput(args.format, environment);
      if ((await output.list(typeColumns, source.pages(args.filter))) === 0) say("No event types found.");
      return "done";
    }),
};

const versionColumns: readonly Column<EventTypeVersion>[] = [
  { title: "VERSION", cell: ({ version }) => version },
  { title: "STATE", cell: ({ state }) => state, tone: ({ state }) => tones[state] },
  { title: "DEPRECATED", cell: ({ deprecated_at: at }) => at },
  { title: "SUNSET", cell: ({ sunset_at: at }) => at },
];

/** `heliograph types show` */
export const showTypeCommand: Command<SourceArguments & { readonly type: string }> = {
  summary: "Prints an event type with its versions, and the schema and an example of the newest.",
  operands: [{ name: "TYPE" }],
  flags: sourceFlags,
  read: (given, [type = ""]) => ({ ...sourceArguments(given), type }),
  run: (args, { environment }) =>
    withSource(args, async (source) => {
      const found = await source.find(args.type);
      if (found === undefined) throw new CommandError("refused", `no event type ${plain(args.type)} is declared`);
      const output = createOutput(args.format, environment);
      await output.one(found, () => typeText(found, output));
      return "done";
    }),
};

function typeText({ type, description, owner, contact, versions }: EventTypeDetail, output: Output): string {
  const [newest] = versions;
  const [example] = newest?.examples ?? [];
  const block = (title: string, value: unknown): string =>
    value === undefined ? "" : `\n${title}\n${plainLines(JSON.stringify(value, undefined, 2))}\n`;
  const about = `${plain(type)}\n${plain(description)}\nOwner: ${plain(owner)}`;
  const where = contact === undefined ? "" : `, ${plain(contact)}`;
  const name = newest === undefined ? "" : ` of version ${newest.version}`;
  const blocks = `${block(`Schema${name}`, newest?.schema)}${block("Example", example)}`;
  return `${about}${where}\n\n${output.table(versionColumns, versions)}${blocks}`;
}

const plainLines = (text: string): string => text.split("\n").map(plain).join("\n");

interface GenerateArguments extends Pick<SourceArguments, "folder" | "connect"> {
  readonly prefix: string | undefined;
}

/** `heliograph types generate` */
export const generateTypesCommand: Command<GenerateArguments> = {
  summary: "Prints types of the declared event types in a programming language, for code of producers and partners.",
  flags: [
    { name: "language", value: "LANGUAGE", help: "Language: typescript.", standard: "typescript" },
    { name: "prefix", value: "TEXT", help: "Only types that start with this text." },
    folderFlag,
    ...connectionFlags,
  ],
  read: (given) => {
    oneOf(given, "language", ["typescript"]);
    return { connect: connectionOf(given), folder: given.optional("folder"), prefix: given.optional("prefix") };
  },
  run: (args) =>
    withSource(args, async (source) => {
      const { typescriptTypes } = await import("./typescript-types.ts");
      const found: EventTypeDetail[] = [];
      for await (const page of source.pages({ prefix: args.prefix, search: undefined, state: undefined }))
        for (const { type } of page) found.push(...[await source.find(type)].filter((one) => one !== undefined));
      process.stdout.write(typescriptTypes(found));
      return "done";
    }),
};
