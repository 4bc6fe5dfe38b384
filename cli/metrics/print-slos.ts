import type { Environment } from "../command-line/given.ts";
import type { Connect } from "../api/connection.ts";
import { createOutput, type OutputFormat } from "../api/output.ts";
import { say } from "../api/terminal.ts";
import { withApi } from "../api/with-api.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import type { QueryParameters } from "./query-flags.ts";
import { readSlos, sloColumns } from "./slo-view.ts";

export interface SloArguments {
  readonly connect: Connect;
  readonly query: QueryParameters;
  /** `chart` needs a history. */
  readonly output: OutputFormat | "chart";
}

/** Prints the objectives that the caller may see. @throws CommandError */
export async function printSlos(
  { connect, query, output }: SloArguments & { readonly output: OutputFormat },
  environment: Environment,
): Promise<ExitName> {
  return withApi(connect, async (connection): Promise<ExitName> => {
    const slos = await readSlos(connection, query);
    const pages = async function* () {
      yield slos;
    };
    const count = await createOutput(output, environment).list(sloColumns, pages());
    const missing = slos.flatMap(({ name, regions }) =>
      regions.filter(({ state }) => state !== "ok").map(({ region, state }) => `${name} in ${region} (${state})`),
    );
    if (missing.length > 0) say(`partial: ${missing.join(", ")}`);
    if (count === 0) say("no objective is visible to this caller");
    return "done";
  });
}
