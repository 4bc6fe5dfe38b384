import type { Environment } from "../../../command-line/given.ts";
import type { Connect } from "../api/connection.ts";
import { createOutput, type OutputFormat } from "../api/output.ts";
import { say } from "../api/terminal.ts";
import { withApi } from "../api/with-api.ts";
import type { ExitName } from "../exit-codes.ts";
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
    const pages = async function* () {
      yield await readSlos(connection, query);
    };
    const count = await createOutput(output, environment).list(sloColumns, pages());
    if (count === 0) say("no objective is visible to this caller");
    return "done";
  });
}
