import type { Command, ExitName } from "../command-line/command.ts";
import type { Flag, Given } from "../command-line/flags.ts";
import { connectionFlags, connectionOf, type ApiConnection, type Connect } from "./connection.ts";
import { createOutput, outputFlag, outputFormatOf, type Output, type OutputFormat } from "./output.ts";

/** Arguments of every command that queries a server and prints its response. */
export interface ApiArguments {
  readonly connect: Connect;
  readonly format: OutputFormat;
}

export const apiFlags: readonly Flag[] = [outputFlag, ...connectionFlags];

/** @throws UsageError */
export function apiArguments(given: Given): ApiArguments {
  return { connect: connectionOf(given), format: outputFormatOf(given) };
}

interface ApiCommand<Args> extends Pick<Command, "summary" | "operands"> {
  /** Flags before those of the output and the connection. @default none */
  readonly flags?: readonly Flag[];
  /** @default {@link outputFlag} */
  readonly output?: Flag;
  /** @throws UsageError */
  readonly read: (given: Given, operands: readonly string[]) => Args;
  /** @returns the exit of the command; done without one. @throws CommandError, StartError */
  readonly run: (connection: ApiConnection, args: ApiArguments & Args, output: Output) => Promise<ExitName | void>;
}

/** A command that queries a server and prints its response. */
export function apiCommand<Args extends object>({
  flags = [],
  output = outputFlag,
  read,
  run,
  ...rest
}: ApiCommand<Args>): Command<ApiArguments & Args> {
  return {
    ...rest,
    flags: [...flags, output, ...connectionFlags],
    read: (given, operands) => ({ ...apiArguments(given), ...read(given, operands) }),
    run: (args, { environment }) =>
      withApi(
        args.connect,
        async (connection) => (await run(connection, args, createOutput(args.format, environment))) ?? "done",
      ),
  };
}

/** Runs a command's work with a connection, which is closed in every case. */
export async function withApi<T extends ExitName | object | void>(
  connect: Connect,
  work: (connection: ApiConnection) => Promise<T>,
): Promise<T> {
  const connection = await connect();
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
