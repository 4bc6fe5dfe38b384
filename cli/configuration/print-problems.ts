import { version } from "../../runtime/version.ts";
import { say } from "../api/terminal.ts";
import type { ExitName } from "../command-line/exit-codes.ts";
import { problemReport, resourceCount, type ReportForm } from "./problem-report.ts";
import { readConfiguration } from "./read-configuration.ts";

export interface ValidateArguments {
  /** A folder, a file, or `-` for the standard input. */
  readonly place: string;
  readonly output: ReportForm;
}

/**
 * Writes one line per problem to standard output, `file:line: field: reason: message`, or a
 * report for programs. Warnings and the sum go to standard error.
 * @throws StartError `folder`
 */
export async function printProblems({ place, output }: ValidateArguments): Promise<ExitName> {
  const configuration = await readConfiguration(place);
  const { problems, warnings } = configuration;
  process.stdout.write(problemReport(output, configuration, version));
  for (const { message } of warnings) say(`warning: ${message}`);
  process.stderr.write(`${resourceCount(configuration)} resources in force, ${problems.length} problems\n`);
  return problems.length === 0 ? "done" : "problems";
}
