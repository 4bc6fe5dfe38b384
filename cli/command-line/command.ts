import type { StartFault } from "../../runtime/program/start-error.ts";
import type { ExitRow } from "./end-process.ts";
import type { Environment, Flag, Given } from "./flags.ts";

/** A word of the command line that is no flag. */
export interface Operand {
  /** In capitals, as the help shows it. */
  readonly name: string;
  readonly isOptional?: boolean;
  /** True for the last operand when it may be given several times. */
  readonly isRepeated?: boolean;
}

/**
 * One command. Its module imports what is heavy inside of `run`, because the help loads the modules of all commands.
 * `Args` is what `read` makes of the command line.
 */
export interface Command<Args = unknown> {
  readonly summary: string;
  /** @default none */
  readonly operands?: readonly Operand[];
  readonly flags: readonly Flag[];
  /** What to do for a release in a cluster, for a command of this machine; follows "for a release in a cluster,". */
  readonly inCluster?: string;
  /** @throws UsageError */
  read(given: Given, operands: readonly string[]): Args;
  /** @throws CommandError, StartError */
  run(args: Args, context: Context): Promise<ExitName>;
}

/** The table of commands: names of one or two words, each with the loader of its module. */
export type CommandTable = Readonly<Record<string, () => Promise<Command>>>;

/** Everything that a command gets besides its arguments. */
export interface Context {
  readonly environment: Environment;
  /** All commands, for those that describe others. */
  readonly commands: CommandTable;
}

/** Every way a command ends. `docs/reference/cli.md` holds the same table; a test compares them. */
export const exitCodes = {
  done: { code: 0, meaning: "Success; for `run` and `runtime`, drained after a signal." },
  problems: {
    code: 1,
    meaning: "The result is negative: problems, a difference or a failed delivery, as each command documents.",
  },
  usage: { code: 2, meaning: "The command line or an environment variable is invalid." },
  folder: { code: 3, meaning: "The configuration folder or file cannot be read." },
  settings: { code: 4, meaning: "The settings file cannot be read or is invalid." },
  data: { code: 5, meaning: "The data folder cannot be used." },
  locked: { code: 6, meaning: "Another program uses the data folder." },
  port: { code: 7, meaning: "A port cannot be opened." },
  nats: { code: 8, meaning: "NATS is unreachable or lacks a required feature." },
  nats_server: { code: 9, meaning: "The embedded nats-server cannot be started." },
  kubernetes: { code: 10, meaning: "The Kubernetes API server or the namespace cannot be determined." },
  refused: { code: 11, meaning: "The server rejected the request; the message states the reason." },
  unreachable: { code: 12, meaning: "The server is unreachable or does not respond." },
  undecided: { code: 13, meaning: "The available data is insufficient for a decision." },
  migration: { code: 14, meaning: "The streams cannot be migrated, or a copy differs from its source." },
  failed: { code: 70, meaning: "Unexpected failure; see the log for the cause." },
  interrupted: { code: 130, meaning: "A second signal stopped the program without draining." },
} as const satisfies Readonly<Record<string, ExitRow>> & Readonly<Record<StartFault, ExitRow>>;

export type ExitName = keyof typeof exitCodes;

/** `run DIR`, `events get EVENT...`, `validate [DIR]` */
export function usageOfCommand(name: string, { operands = [] }: Pick<Command, "operands">): string {
  return [name, ...operands.map(usageOfOperand)].join(" ");
}

export function usageOfOperand({ name, isOptional = false, isRepeated = false }: Operand): string {
  const text = isRepeated ? `${name}...` : name;
  return isOptional ? `[${text}]` : text;
}

/** The command cannot be done; the message is one sentence that states what failed and what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exit: ExitName;

  constructor(exit: ExitName, message: string, cause?: unknown) {
    super(message, { cause });
    this.exit = exit;
  }
}
