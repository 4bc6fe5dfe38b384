import { fileURLToPath } from "node:url";
import { findPythonProgram } from "../support/python-program.ts";
import { run } from "../tools/run.ts";

const versionMsMax = 30_000;

/** Uses the Go of the machine, and the compiled standard library that builds of tools leave. */
export const goEnvironment = { CGO_ENABLED: "0", GOWORK: "off", GOTOOLCHAIN: "local" } as const;

/** The folder of the verifiers of a language. */
export function recipientsFolder(language: "go" | "python"): string {
  return fileURLToPath(new URL(`../../docs/recipients/${language}`, import.meta.url));
}

/** The command of Python 3.9 or newer; undefined on a machine without. */
export async function python(): Promise<string | undefined> {
  const isNewEnough = "import sys; sys.exit(sys.version_info < (3, 9))";
  const { code } = await run("python3", ["-c", isNewEnough], { timeoutMs: versionMsMax });
  return code === 0 ? "python3" : undefined;
}

/** The same with the package that public keys need, or why there is none. */
export async function pythonWithPublicKeys(): ReturnType<typeof findPythonProgram> {
  return findPythonProgram("cryptography");
}

/** The same with Flask, FastAPI, Django and their servers too. */
export async function pythonWithFrameworks(): ReturnType<typeof findPythonProgram> {
  return findPythonProgram("frameworks");
}
