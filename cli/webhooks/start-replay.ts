import { type DryRun, ratePerSecondMax, type Replay } from "../../api/replays.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { type Flag, type Given, UsageError } from "../command-line/flags.ts";
import { confirm, createProgress, isInteractive, plain, progressBar, say } from "../command-line/terminal.ts";
import type { ApiConnection } from "../api/connection.ts";
import { createOutput, type Output } from "../api/output.ts";
import { type ApiRequest, send } from "../api/request.ts";
import { apiArguments, withApi, type ApiArguments } from "../api/with-api.ts";
import { CommandError, type Context, type ExitName } from "../command-line/command.ts";

/** What a job does to what it selects. */
interface JobWords {
  readonly one: string;
  readonly many: string;
  readonly confirmation: string;
}

/** The request of a replay, a redrive or an acknowledgement. */
interface ReplayStart {
  readonly body: Readonly<Record<string, unknown>>;
  /** Number of dead letters that are named. @default none is */
  readonly named?: number | undefined;
  /** @default {@link deliveryWords} */
  readonly words?: JobWords;
}

const deliveryWords: JobWords = { one: "delivery", many: "deliveries", confirmation: "Deliver them again?" };

/** How a command starts a replay. */
export interface StartArguments extends ApiArguments, ReplayStart {
  readonly isDryRun: boolean;
  /** True to start without a question. */
  readonly isConfirmed: boolean;
  readonly follows: boolean;
  readonly ratePerSecond: number | undefined;
}

export const followFlag = {
  name: "follow",
  help: "Waits until all deliveries end and shows progress; exits with 1 if one failed.",
} as const satisfies Flag;

export const yesFlag = {
  name: "yes",
  help: "Starts without confirmation. Required without a terminal.",
} as const satisfies Flag;

export const startFlags = [
  { name: "rate", value: "COUNT", help: "Maximum deliveries per second; defaults to the server's default." },
  { name: "dry-run", help: "Prints what would be delivered without starting." },
  yesFlag,
  followFlag,
] as const satisfies readonly Flag[];

type Counts = Pick<DryRun, "matched" | "in_progress" | "too_old" | "missing">;

const pollMs = 500;

/** @throws UsageError without a terminal to confirm in */
export function startArguments(command: string, given: Given): Omit<StartArguments, keyof ReplayStart> {
  const [isDryRun, isConfirmed, follows] = [given.isSet("dry-run"), given.isSet("yes"), given.isSet("follow")];
  if (!isDryRun && !isConfirmed && !isInteractive())
    throw new UsageError(`${command} needs --yes or --dry-run without a terminal.`);
  const hasRate = given.optional("rate") !== undefined;
  const ratePerSecond = hasRate ? given.whole("rate", 1, ratePerSecondMax) : undefined;
  return { ...apiArguments(given), isDryRun, isConfirmed, follows, ratePerSecond };
}

/** Counts, asks and starts, according to the flags. */
export function startReplay(path: string, args: StartArguments, { environment }: Context): Promise<ExitName> {
  const output = createOutput(args.format, environment);
  const { words = deliveryWords } = args;
  const job = { path, words, body: { ...args.body, rate_per_second: args.ratePerSecond } };
  return withApi(args.connect, async (connection) => {
    if (args.named !== undefined) await requireNamed(connection, job, args.named);
    if (args.isDryRun) return dryRun(connection, job, output);
    if (!args.isConfirmed && !(await isWanted(connection, job))) return "done";
    const started = await send(connection, { method: "POST", path, body: job.body });
    if (!args.follows) return printReplay(started.body, output);
    const { replay_id: id } = replayOf(started.body);
    say(`replay ${id}`);
    return followReplay(connection, id, output);
  });
}

type ReplayJob = Required<Pick<ApiRequest, "path">> & Required<Pick<ReplayStart, "body" | "words">>;

/**
 * Reports events that are named and have nothing to deliver again.
 * @throws CommandError `refused` if none has
 */
async function requireNamed(connection: ApiConnection, job: ReplayJob, named: number): Promise<void> {
  const { matched } = JSON.parse((await countedBody(connection, job)).toString()) as DryRun;
  if (matched >= named) return;
  const { partner: of } = job.body;
  const partner = typeof of === "string" ? of : "the installation";
  if (matched === 0) {
    const sentence = `${partner} has no dead letter for ${named === 1 ? "this event" : "these events"}`;
    throw new CommandError("refused", `${plain(sentence)}; heliograph dlq list prints the existing ones`);
  }
  say(`${named - matched} of the ${named} events have no dead letter of ${partner}.`);
}

async function dryRun(connection: ApiConnection, job: ReplayJob, output: Output): Promise<ExitName> {
  await output.one<DryRun>(await countedBody(connection, job), (counts) => countText(counts, job.words));
  return "done";
}

async function isWanted(connection: ApiConnection, job: ReplayJob): Promise<boolean> {
  const counts = JSON.parse((await countedBody(connection, job)).toString()) as DryRun;
  say(countText(counts, job.words));
  if (await confirm(job.words.confirmation)) return true;
  say("Nothing was started.");
  return false;
}

async function countedBody(connection: ApiConnection, { path, body }: ReplayJob): Promise<Buffer> {
  return (await send(connection, { method: "POST", path, body: { ...body, dry_run: true } })).body;
}

/** Shows the progress of a replay until its deliveries have ended. A replay continues when nobody follows it. */
export async function followReplay(connection: ApiConnection, id: string, output: Output): Promise<ExitName> {
  const progress = createProgress();
  for (;;) {
    const { body } = await send(connection, { path: replayPath(id) });
    const replay = replayOf(body);
    const ended = replay.delivered + replay.failed;
    const due = Math.max(dueOf(replay), replay.published);
    const [done, verb] =
      replay.acknowledged === undefined ? [ended, "delivered"] : [replay.acknowledged, "acknowledged"];
    progress.show(`${progressBar(done, due)} ${verb}, ${replay.status}`);
    const isOver = !["queued", "running"].includes(replay.status);
    if (isOver && (ended >= replay.published || replay.status !== "completed")) {
      progress.clear();
      await printReplay(body, output);
      return replay.status === "completed" && replay.failed === 0 ? "done" : "problems";
    }
    await sleep(pollMs);
  }
}

/** Target of a request about one replay. */
export function replayPath(id: string): string {
  return `/webhooks/replay/${encodeURIComponent(id)}`;
}

/** Prints a replay as the API sends it, or as a line for people. */
export async function printReplay(body: Buffer, output: Output): Promise<ExitName> {
  await output.one<Replay>(body, replayText);
  return "done";
}

function replayOf(body: Buffer): Replay {
  return JSON.parse(body.toString()) as Replay;
}

function dueOf({ matched, in_progress: inProgress, too_old: tooOld }: Counts): number {
  return matched - inProgress - tooOld;
}

function countText(counts: DryRun, { one, many }: JobWords): string {
  const atLeast = counts.complete ? "" : "at least ";
  const due = dueOf(counts);
  return `${atLeast}${due} ${due === 1 ? one : many}${skippedText(counts)}`;
}

function replayText(replay: Replay): string {
  const { replay_id: id, status, published, delivered, failed, acknowledged, detail } = replay;
  const numbers =
    acknowledged === undefined
      ? `${published} published, ${delivered} delivered, ${failed} failed`
      : `${acknowledged} acknowledged`;
  return `${id} ${status}: ${numbers}${skippedText(replay)}${detail === null ? "" : `; ${plain(detail)}`}`;
}

function skippedText({ in_progress: inProgress, too_old: tooOld, missing }: Counts): string {
  const skipped = [
    ...(inProgress > 0 ? [`${inProgress} in progress`] : []),
    ...(tooOld > 0 ? [`${tooOld} too old`] : []),
    ...(missing > 0 ? [`${missing} missing`] : []),
  ];
  return skipped.length === 0 ? "" : `, skipped: ${skipped.join(", ")}`;
}
