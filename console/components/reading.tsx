import type { CheaperQuery } from "../../api/quotas.ts";
import type { RegionState } from "../../api/queries.ts";
import type { ComponentChildren, JSX } from "preact";
import type { Problem } from "../api/problem.ts";
import type { ReadState } from "../api/use-read.ts";
import { Badge } from "./badge.tsx";
import { Empty } from "./empty.tsx";
import { useFormatTime } from "./preferences.tsx";
import { ProblemNotice } from "./problem-notice.tsx";

interface ReadingProps<Body> {
  readonly read: ReadState<Body>;
  /** What is read, for screen readers and rejections: `the partners`. */
  readonly what: string;
  /** Lines that the content will about take, so that nothing moves when it comes. @default 3 */
  readonly lines?: number;
  readonly suggestion?: ((suggestion: CheaperQuery) => ComponentChildren) | undefined;
  readonly children: (data: Body) => ComponentChildren;
}

/**
 * Shows a response: a skeleton while there is none, the problem where there is one, and the content. Content that is
 * not the newest stays, under a line. A partial response names the missing regions.
 */
export function Reading<Body>({ read, what, lines = 3, suggestion, children }: ReadingProps<Body>): JSX.Element {
  const { data, problem, isReading, isStale, missing } = read;
  if (data === undefined && problem !== undefined && problem.scopes.length > 0)
    return <MayNotRead what={what} scopes={problem.scopes} />;
  return (
    <div class="reading" aria-busy={isReading}>
      {problem === undefined ? null : <Failure read={read} problem={problem} suggestion={suggestion} />}
      {data === undefined && problem === undefined ? <Skeleton what={what} lines={lines} /> : null}
      <MissingRegions regions={missing} />
      {data === undefined ? null : <div class={isStale ? "stale" : "current"}>{children(data)}</div>}
    </div>
  );
}

function MayNotRead({ what, scopes }: { readonly what: string; readonly scopes: readonly string[] }): JSX.Element {
  return (
    <Empty
      title={`Your token may not read ${what}`}
      why={`It lacks the scope ${scopes.join(" or ")}.`}
      next="Request a token with this scope from the operator."
    />
  );
}

interface FailureProps {
  readonly read: ReadState<unknown>;
  readonly problem: Problem;
  readonly suggestion: ((suggestion: CheaperQuery) => ComponentChildren) | undefined;
}

function Failure({ read, problem, suggestion }: FailureProps): JSX.Element {
  const { data, atMs, refresh } = read;
  const formatTime = useFormatTime();
  return (
    <>
      <ProblemNotice problem={problem} onRetry={refresh} suggestion={suggestion} />
      {data === undefined || atMs === undefined ? null : (
        <p class="lead">Shown as of {formatTime(new Date(atMs).toISOString())}.</p>
      )}
    </>
  );
}

function MissingRegions({ regions }: { readonly regions: readonly RegionState[] }): JSX.Element | null {
  if (regions.length === 0) return null;
  return (
    <div class="notice warn">
      <p class="notice-title">Regions are missing</p>
      <ul class="plain">
        {regions.map(({ region, state, reasons = [] }) => (
          <li key={region}>
            {region} <Badge state={state} />
            {reasons.length === 0 ? null : (
              <span class="quiet"> {[...new Set(reasons.map(({ detail }) => detail))].join("; ")}</span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface SkeletonProps {
  readonly what: string;
  readonly lines: number;
}

/** Takes the room of content that is read; seen after 100 ms, so that quick answers do not flicker. */
export function Skeleton({ what, lines }: SkeletonProps): JSX.Element {
  return (
    <div class="skeleton">
      <p class="hidden">Reading {what}</p>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} class="skeleton-line" />
      ))}
    </div>
  );
}
