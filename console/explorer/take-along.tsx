import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { problemOfError, type Problem } from "../api/problem.ts";
import { useSession } from "../api/session-context.ts";
import { CodeBlock } from "../components/copy-button.tsx";
import { Section } from "../components/page.tsx";
import { ProblemNotice } from "../components/problem-notice.tsx";
import { timesOf, type AskedQuery } from "./asked-query.ts";
import { curlLine, promqlLine } from "./command-lines.ts";

interface TakeAlongProps {
  readonly asked: AskedQuery;
  /** Parameters of the query. */
  readonly text: string;
  readonly nowMs: number;
  /** The same in PromQL; null where it cannot be said. */
  readonly expression: string | null;
}

const csvType = "text/csv";

/** The same query elsewhere: as a file, as a command, and as an expression. */
export function TakeAlong({ asked, text, nowMs, expression }: TakeAlongProps): JSX.Element {
  const url = `${location.origin}/v1/metrics/query${text}`;
  const { from, to } = timesOf(asked, nowMs);
  const step = asked.step === "" ? {} : { step: asked.step };
  return (
    <Section title="Take it along" lead="The commands read the token from HELIOGRAPH_TOKEN.">
      <CsvButton path={`/v1/metrics/query${text}`} name={`${asked.metric}.csv`} />
      <h3>curl</h3>
      <CodeBlock text={curlLine(url)} what="the command for JSON" />
      <h3>CSV</h3>
      <CodeBlock text={curlLine(url, csvType)} what="the command for CSV" />
      <h3>PromQL</h3>
      {expression === null ? (
        <p class="quiet">The plan names no expression: the subset of PromQL cannot say this query.</p>
      ) : (
        <>
          <CodeBlock text={expression} what="the expression" />
          <CodeBlock
            text={promqlLine(location.origin, expression, { start: from, end: to, ...step })}
            what="the command for PromQL"
          />
        </>
      )}
    </Section>
  );
}

/** Saves the answer as a file. A link could not carry the token. */
function CsvButton({ path, name }: { readonly path: string; readonly name: string }): JSX.Element {
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
        Download as CSV
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
