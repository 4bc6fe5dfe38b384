import { StartError } from "../runtime/program/start-error.ts";
import { version } from "../runtime/version.ts";
import { kubeconfigFlags } from "./api/cluster-flags.ts";
import { withFlagHints } from "./api/http-error.ts";
import {
  type Command,
  CommandError,
  exitCodes,
  type ExitName,
  type Operand,
  usageOfOperand,
} from "./command-line/command.ts";
import { print, runProgram } from "./command-line/end-process.ts";
import { type Environment, Given, parseFlags, UsageError } from "./command-line/flags.ts";
import { commands } from "./commands.ts";
import { commandHelp, commandsBelow, nearestCommand, programHelp } from "./help.ts";

/** A command line that was read. */
interface Invocation {
  /** The name of a command, `help` or `version`. */
  readonly command: string;
  readonly args: unknown;
  run(): Promise<ExitName>;
}

/** Runs a command and ends the process with its exit code. @param argv without the program's own name */
export function dispatch(argv: readonly string[] = process.argv.slice(2)): Promise<void> {
  return runProgram("heliograph", exitCodes, () => runArguments(argv), exitOf);
}

async function runArguments(argv: readonly string[]): Promise<ExitName> {
  const invocation = await readArguments(argv, process.env);
  return invocation.run();
}

function exitOf(error: unknown): ExitName | undefined {
  if (error instanceof CommandError) return error.exit;
  return error instanceof StartError ? error.fault : undefined;
}

/** Reads the command line, without the program's own name. @throws UsageError */
export async function readArguments(argv: readonly string[], environment: Environment): Promise<Invocation> {
  const { name, rest } = namedCommand(argv);
  if (name === undefined || ["--help", "-h", "help"].includes(name)) return help();
  if (name === "--version") return { command: "version", args: {}, run: async () => print(version) };
  const asksHelp = rest.includes("--help") || rest.includes("-h");
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (asksHelp && (load !== undefined || commandsBelow(commands, name).length > 0)) return help(name);
  if (load === undefined) throw unknownCommand([name, ...rest]);
  const command = await load();
  checkCluster(name, command, rest, environment);
  const { values, positionals } = parseFlags(`heliograph ${name}`, rest, command.flags, { allowPositionals: true });
  checkOperands(name, command, positionals);
  const args = command.read(new Given(values, command.flags, environment), positionals);
  const run = (): Promise<ExitName> =>
    command.run(args, { environment, commands }).catch((error: unknown) => {
      throw withFlagHints(error, command.flags);
    });
  return { command: name, args, run };
}

/** @throws UsageError for a flag of kubectl before or after a command that does not reach the cluster */
function checkCluster(
  name: string,
  { flags, inCluster }: Pick<Command, "flags" | "inCluster">,
  words: readonly string[],
  environment: Environment,
): void {
  if (environment["HELIOGRAPH_KUBERNETES"] !== "true") return;
  const foreign = kubeconfigFlags.filter((flag) => flags.every((own) => own.name !== flag.name));
  const isGiven = (word: string): boolean => words.some((one) => one === word || one.startsWith(`${word}=`));
  const given = foreign.find((flag) => isGiven(`--${flag.name}`) || ("short" in flag && isGiven(`-${flag.short}`)));
  if (given === undefined) return;
  const hint = inCluster === undefined ? "" : `; for a release in a cluster, ${inCluster}`;
  throw new UsageError(`${name} runs on this machine only and does not accept --${given.name}${hint}.`);
}

function help(about?: string): Invocation {
  const text = async (): Promise<string> =>
    about === undefined ? programHelp(commands) : commandHelp(commands, about);
  return { command: "help", args: about === undefined ? {} : { about }, run: async () => print(await text()) };
}

/** Some commands have two words. `help NAME` is `NAME --help`. */
function namedCommand(argv: readonly string[]): { readonly name?: string; readonly rest: readonly string[] } {
  const [first, second, ...rest] = argv;
  if (first === "help" && second !== undefined) return namedCommand([second, ...rest, "--help"]);
  const both = `${first} ${second}`;
  if (Object.hasOwn(commands, both)) return { name: both, rest };
  return first === undefined ? { rest: [] } : { name: first, rest: argv.slice(1) };
}

function unknownCommand(argv: readonly string[]): UsageError {
  const words = argv.filter((word) => !word.startsWith("-")).slice(0, 2);
  const [first = argv[0] ?? ""] = words;
  const below = commandsBelow(commands, first).map((name) => name.slice(first.length + 1));
  if (below.length > 0)
    return new UsageError(`${first} needs one of ${below.join(", ")}; see heliograph ${first} --help.`);
  const nearest = nearestCommand(commands, words);
  const hint = nearest === undefined ? "" : `; did you mean ${nearest}`;
  return new UsageError(`Unknown command ${first}${hint}; see heliograph --help.`);
}

/** @throws UsageError for a missing operand, or one too many */
function checkOperands(name: string, { operands = [] }: Pick<Command, "operands">, given: readonly string[]): void {
  const missing = operands[given.length];
  if (missing !== undefined && missing.isOptional !== true)
    throw new UsageError(`${name} needs ${/^[AEIOU]/u.test(missing.name) ? "an" : "a"} ${missing.name}.`);
  if (given.length > operands.length && operands.at(-1)?.isRepeated !== true)
    throw new UsageError(`${name} takes ${operandsTaken(operands)}.`);
}

function operandsTaken(operands: readonly Operand[]): string {
  if (operands.length === 0) return "no operand";
  const names = operands.map(usageOfOperand).join(" ");
  return operands.length === 1 ? `one ${names}` : names;
}
