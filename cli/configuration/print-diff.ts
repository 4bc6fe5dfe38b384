import type { Preview } from "../../api/previews.ts";
import { createReadStream } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { type OfflinePreview, previewOffline } from "../../runtime/preview/offline-preview.ts";
import { objectName } from "../../runtime/preview/edited-config.ts";
import type { RecordedEvent } from "../../runtime/preview/match-changes.ts";
import type { ApiConnection, Connect } from "../api/connection.ts";
import { sendForJson } from "../api/request.ts";
import { createProgress, say } from "../command-line/terminal.ts";
import { withApi } from "../api/with-api.ts";
import { CommandError, type ExitName } from "../command-line/command.ts";
import { diffNotes, diffText, isDifferent, withRejected } from "./diff-text.ts";
import { standardInput, readValidResources, withProblems, type ReadResources } from "./read-configuration.ts";

/** A folder against a server, or against another folder. */
export type DiffArguments = { readonly output: "text" | "json" | "markdown"; readonly after: string } & (
  | { readonly before: string; readonly events: string | undefined }
  | { readonly connect: Connect; readonly prune: boolean; readonly sinceSeconds: number | undefined }
);

const pollMs = 1_000;
const problemsShown = 10;
/** A preview waits for those of other callers, and reads at most a million events. */
const patienceMs = 30 * 60_000;

/**
 * Writes the effect of an edit to standard output, and what was not compared to standard error. An edit with problems
 * ends with 1, as `validate` does.
 * @throws StartError `folder`; CommandError if the server rejects the edit, is unreachable or fails
 */
export async function printDiff(args: DiffArguments): Promise<ExitName> {
  const { found, notes, isValid } = "before" in args ? await offline(args) : await onServer(args);
  const { output } = args;
  process.stdout.write(output === "json" ? `${JSON.stringify(found)}\n` : diffText(found, output));
  for (const note of [...notes, ...diffNotes(found)]) say(note);
  return isDifferent(found) || !isValid ? "problems" : "done";
}

interface Compared<Found> {
  readonly found: Found;
  /** Problems of files that were compared. */
  readonly notes: readonly string[];
  /** True for an edit without problems. */
  readonly isValid: boolean;
}

async function offline(args: Extract<DiffArguments, { before: string }>): Promise<Compared<OfflinePreview>> {
  const before = await readValidResources(args.before);
  const after = await readValidResources(args.after, before.objects);
  const events = args.events === undefined ? undefined : eventsOf(args.events);
  const found = await previewOffline(before.resources, after.resources, events);
  return {
    found: withInvalid(found, args.after, after),
    notes: [...problemNotes(args.before, before), ...problemNotes(args.after, after)],
    isValid: after.problems.length === 0,
  };
}

/** Adds the invalid objects of the edit. They are not among its resources, and are no objects that it leaves alone. */
function withInvalid<Found extends OfflinePreview | Preview>(found: Found, place: string, edit: ReadResources): Found {
  const invalid = edit.objects.rejected.map(({ kind, namespace, name, reason, message, file }) => ({
    object: objectName(kind, { namespace, name }),
    reason,
    message: `${placeOf(place, file)}${message.slice(file.length)}`,
  }));
  const named = new Set(invalid.map(({ object }) => object));
  const unnamed = found.resources.unnamed.filter((object) => !named.has(object));
  return withRejected({ ...found, resources: { ...found.resources, unnamed } }, invalid);
}

function placeOf(place: string, file: string): string {
  return place === standardInput ? file : join(place, file);
}

/** `run` applies the other objects of a folder, so they are compared. */
function problemNotes(place: string, { problems }: ReadResources): readonly string[] {
  const more = problems.length - problemsShown;
  const shown = problems.slice(0, problemsShown).map(({ file, line, field, message }) => {
    const at = field === "" ? "" : ` ${field}:`;
    return `Not compared: ${placeOf(place, file)}:${line}:${at} ${message}`;
  });
  return more > 0 ? [...shown, `${more} more problems: \`heliograph validate ${place}\` lists all of them.`] : shown;
}

async function* eventsOf(file: string): AsyncGenerator<RecordedEvent> {
  let line = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      line += 1;
      if (text.trim() !== "") yield eventOf(text);
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const place = error instanceof SyntaxError ? `${file}:${line}` : file;
    throw new CommandError("folder", `the events of ${place} cannot be read: ${reason}`, error);
  }
}

/** @throws SyntaxError */
function eventOf(text: string): RecordedEvent {
  const event = JSON.parse(text) as { readonly [name: string]: unknown } | null;
  const { event_id: eventId, type, tenant = "-", producer } = event ?? {};
  if (typeof eventId !== "string" || typeof type !== "string" || typeof tenant !== "string")
    throw new SyntaxError("an event needs the strings event_id and type, and optionally tenant");
  return { eventId, type, tenant, body: Buffer.from(text), ...(typeof producer === "string" ? { producer } : {}) };
}

type OnServer = Extract<DiffArguments, { connect: Connect }>;

async function onServer({ connect, after, prune, sinceSeconds }: OnServer): Promise<Compared<Preview>> {
  const read = await readValidResources(after);
  // An invalid object would show as removed.
  if (prune && read.problems.length > 0) throw withProblems(after);
  const { resources } = read;
  const from = sinceSeconds === undefined ? {} : { from: new Date(Date.now() - sinceSeconds * 1_000).toISOString() };
  return withApi(connect, async (connection) => {
    const body = { resources, prune, ...from };
    const started = await sendForJson<Preview>(connection, { method: "POST", path: "/v1/preview", body });
    const found = withInvalid(await untilOver(connection, started), after, read);
    return { found, notes: problemNotes(after, read), isValid: read.problems.length === 0 };
  });
}

async function untilOver(connection: ApiConnection, started: Preview): Promise<Preview> {
  const progress = createProgress();
  const endMs = performance.now() + patienceMs;
  let preview = started;
  while (preview.status === "queued" || preview.status === "running") {
    if (performance.now() > endMs)
      throw new CommandError("unreachable", "the preview did not finish in time; try again later");
    progress.show(`${preview.events?.read ?? 0} events compared`);
    await sleep(pollMs);
    preview = await sendForJson<Preview>(connection, { path: `/v1/preview/${started.preview_id}` });
  }
  progress.clear();
  if (preview.status === "completed") return preview;
  throw new CommandError("refused", `the server ended the preview: ${preview.detail ?? "no reason was given"}`);
}
