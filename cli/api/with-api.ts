import type { Flag, Given } from "../command-line/flags.ts";
import type { ExitName } from "../command-line/command.ts";
import { connectionFlags, connectionOf, type ApiConnection, type Connect } from "./connection.ts";
import { outputFlag, outputFormatOf, type OutputFormat } from "./output.ts";

/** Arguments of every command that asks a server and prints its response. */
export interface ApiArguments {
  readonly connect: Connect;
  readonly format: OutputFormat;
}

export const apiFlags: readonly Flag[] = [outputFlag, ...connectionFlags];

/** @throws UsageError */
export function apiArguments(given: Given): ApiArguments {
  return { connect: connectionOf(given), format: outputFormatOf(given) };
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
