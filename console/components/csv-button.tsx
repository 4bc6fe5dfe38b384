import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { problemOfError, type Problem } from "../api/problem.ts";
import { useSession } from "../api/session-context.ts";
import { ProblemNotice } from "./problem-notice.tsx";

export const csvType = "text/csv";

/** Saves the response as a file. A link could not carry the token. */
export function CsvButton({ path, name }: { readonly path: string; readonly name: string }): JSX.Element {
  const { api } = useSession();
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      saveText(await api.readText(path, csvType, new AbortController().signal), name);
    } catch (error) {
      setProblem(problemOfError(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => void save()}>
        Download CSV
      </button>
      {problem === undefined ? null : <ProblemNotice problem={problem} />}
    </>
  );
}

function saveText(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: csvType }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
