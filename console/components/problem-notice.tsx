import type { CheaperQuery } from "../../api/quotas.ts";
import type { ComponentChildren, JSX } from "preact";
import type { Problem } from "../api/problem.ts";
import { CopyButton } from "./copy-button.tsx";
import { formatSeconds } from "./format.ts";

interface ProblemNoticeProps {
  readonly problem: Problem;
  /** Sends the request again. */
  readonly onRetry?: (() => void) | undefined;
  /** What takes the suggestion, such as a button. @default its parameters are named */
  readonly suggestion?: ((suggestion: CheaperQuery) => ComponentChildren) | undefined;
}

/** Shows what failed, in the words of the server, and what to do. */
export function ProblemNotice({ problem, onRetry, suggestion }: ProblemNoticeProps): JSX.Element {
  const { title, detail, correlationId, retryAfterSeconds, errors } = problem;
  const own = errors.filter((error) => error.detail !== detail);
  return (
    <div class="notice bad" role="alert">
      <p class="notice-title">{title}</p>
      <p>{detail}</p>
      {problem.scopes.length === 0 ? null : <p>Request a token with the scope {problem.scopes.join(" or ")}.</p>}
      {own.length === 0 ? null : (
        <ul>
          {own.map((error) => (
            <li key={error.field}>
              <code>{error.field}</code>: {error.detail}
            </li>
          ))}
        </ul>
      )}
      {problem.suggestion === undefined ? null : (
        <p>{suggestion === undefined ? namedSuggestion(problem.suggestion) : suggestion(problem.suggestion)}</p>
      )}
      {retryAfterSeconds === undefined ? null : <p>Retry after {formatSeconds(retryAfterSeconds)}.</p>}
      {correlationId === undefined ? null : (
        <p class="correlation">
          Correlation id <code>{correlationId}</code> <CopyButton text={correlationId} what="the correlation id" />
        </p>
      )}
      {onRetry === undefined ? null : (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

function namedSuggestion(suggestion: CheaperQuery): string {
  const parts = Object.entries(suggestion).map(([name, value]) => `${name}=${value}`);
  return `The server suggests ${parts.join(", ")}.`;
}
