import { join } from "node:path";
import { allowAll } from "../../crds/policy.ts";
import { readFolder, type FolderState } from "../config/folder/folder-source.ts";
import type { SourceProblem } from "../config/yaml/yaml-documents.ts";
import { startStep } from "../program/start-error.ts";
import type { ExitName } from "./exit-codes.ts";

/**
 * `heliograph validate`: writes one line per problem to standard output, `file:line: field: reason: message`. Warnings
 * and the sum go to standard error.
 * @throws StartError `folder`
 */
export async function validate(folder: string): Promise<ExitName> {
  const read = () => readFolder(folder, allowAll);
  const state = await startStep("folder", `the folder ${folder} cannot be read`, read);
  for (const problem of state.problems) process.stdout.write(`${lineOf(folder, problem)}\n`);
  for (const warning of warningsOf(state)) process.stderr.write(`${warning}\n`);
  process.stderr.write(`${sumOf(state)}\n`);
  return state.problems.length === 0 ? "done" : "problems";
}

function lineOf(folder: string, { file, line, field, reason, message }: SourceProblem): string {
  const place = file === folder ? folder : `${join(folder, file)}:${line}`;
  return [place, ...(field === "" ? [] : [field]), reason, message].join(": ");
}

function warningsOf({ results }: FolderState): readonly string[] {
  return results.flatMap(({ kind, namespace, name, warnings }) =>
    warnings.map((warning) => `warning: ${kind} ${namespace}/${name}: ${warning}`),
  );
}

function sumOf({ config, problems }: FolderState): string {
  const { partners, catalogs, quotas } = config;
  const inForce = partners.length + catalogs.length + quotas.length;
  return `${inForce} resources in force, ${problems.length} problems`;
}
