import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findPythonProgram } from "../support/python-program.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/temp-folder.ts";
import { run } from "../tools/run.ts";
import { rendered, variants } from "./judges.ts";

const judgeMsMax = 120_000;
/** The first run installs it. */
const testMsMax = 420_000;

/** Checks of checkov that the chart does not pass, and why. */
const waived: Readonly<Record<string, string>> = {
  CKV_K8S_8: "the pod of helm test ends by itself, and its partner and store end with it",
  CKV_K8S_11: "a limit on CPU throttles what a request on it already shares out; memory is limited",
  CKV_K8S_15: "tags are versions that never move, and a node that cannot reach the registry still starts a pod",
  CKV_K8S_38: "operator and runtime ask the API server, each with a token of its own",
  CKV_K8S_43: "image.digest pins the image of whoever wants it; the default is the tag of the chart's version",
};

let folder: TemporaryFolder;

beforeAll(async () => {
  folder = await temporaryFolder("checkov");
  await Promise.all(
    Object.values(variants).map(async (values, index) => {
      await writeFile(join(folder.path, `variant-${index}.yaml`), await rendered("helm", values));
    }),
  );
});

afterAll(async () => {
  await folder?.remove();
});

interface Report {
  readonly summary: { readonly passed: number };
  readonly results: {
    readonly failed_checks: ReadonlyArray<{ readonly check_id: string; readonly resource: string }>;
  };
}

test("checkov finds in all variants what has a reason, and nothing else", { timeout: testMsMax }, async (context) => {
  const found = await findPythonProgram("checkov");
  if ("missing" in found) return context.skip(found.missing);
  // It downloads nothing, and answers the same everywhere.
  const flags = ["--framework=kubernetes", "--skip-download", "--quiet", "--compact", "--output=json"];
  const { stdout, stderr } = await run(found.command, ["--directory", folder.path, ...flags], {
    timeoutMs: judgeMsMax,
  });
  if (!stdout.startsWith("{")) throw new Error(`checkov gave no report: ${stderr.slice(-500)}`);
  const { summary, results } = JSON.parse(stdout) as Report;
  expect(summary.passed).toBeGreaterThan(500);
  const failed = results.failed_checks;
  expect(failed.filter(({ check_id: id }) => !(id in waived)).map((one) => `${one.check_id} ${one.resource}`)).toEqual(
    [],
  );
  const unused = Object.keys(waived).filter((id) => !failed.some(({ check_id: failedId }) => failedId === id));
  expect(unused).toEqual([]);
});
