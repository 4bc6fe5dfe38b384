// What several webhook pages share: links, and the way of a request from its dry run to its start.
import type { DryRun, Replay } from "../../api/replays.ts";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../api/problem.ts";
import { useSend } from "../api/use-send.ts";
import { useAnnounce } from "../components/announcer.tsx";
import { useEscape } from "../components/panel.tsx";
import { AckNote } from "./ack-panel.tsx";
import { ConfirmCount } from "../components/confirm-count.tsx";
import { Facts } from "../components/data-table.tsx";
import { formatCount, formatNumber } from "../components/format.ts";
import { ProblemNotice } from "../components/problem-notice.tsx";
import { pathTo } from "../router/place.ts";
import { useRouter } from "../router/router.tsx";

/** A body of `POST /webhooks/replay` or `POST /webhooks/dead-letters/redrive`, without `dry_run`. */
export type ReplayBody = Readonly<Record<string, unknown>>;

type BulkVerb = "Replay" | "Redrive" | "Acknowledge";

interface StartReplayProps {
  readonly path: "/webhooks/replay" | "/webhooks/dead-letters/redrive" | "/webhooks/dead-letters/ack";
  /** What is done. */
  readonly action: BulkVerb;
  /** Builds the body when the dry run begins, so that both requests mean the same. @throws Error that a reader gets */
  readonly body: (signal: AbortSignal) => Promise<ReplayBody>;
  /** Begins with the dry run. @default false: a button does */
  readonly startsAtOnce?: boolean;
  /** What the request takes, in words. */
  readonly what: readonly string[];
  readonly onClose: () => void;
}

interface Tried {
  readonly body: ReplayBody;
  readonly dryRun: DryRun;
}

/** A dry run, its count confirmed, the start; then the page of the replay. */
export function StartReplay(props: StartReplayProps): JSX.Element {
  const { path, action, body, what, startsAtOnce = false, onClose } = props;
  const { isSending, problem, send, clear } = useSend<DryRun | Replay>();
  const { go } = useRouter();
  const announce = useAnnounce();
  const [tried, setTried] = useState<Tried | undefined>(undefined);
  const [fault, setFault] = useState<string | undefined>(undefined);
  const [isPreparing, setPreparing] = useState(false);
  const [abort] = useState(() => new AbortController());
  useEffect(() => () => abort.abort(), [abort]);
  const tryOut = async (): Promise<void> => {
    clear();
    setFault(undefined);
    setPreparing(true);
    try {
      const own = await body(abort.signal);
      const response = await send(path, { method: "POST", body: { ...own, dry_run: true } });
      if (response !== undefined && "dry_run" in response.body) {
        setTried({ body: own, dryRun: response.body });
        announce(`The dry run counts ${deliveries(publishedBy(response.body))}`);
      }
    } catch (error) {
      if (!abort.signal.aborted) setFault(error instanceof Error ? error.message : String(error));
    }
    setPreparing(false);
  };
  const begin = useRef(startsAtOnce);
  useEffect(() => {
    if (begin.current) void tryOut();
    begin.current = false;
  });
  const [note, setNote] = useState("");
  const noteField = useRef<HTMLInputElement>(null);
  // As for one dead letter: Enter must not acknowledge before somebody sees the note.
  useLayoutEffect(() => noteField.current?.focus(), [tried]);
  const panel = useEscape<HTMLElement>(onClose, !isSending);
  const start = async (): Promise<void> => {
    if (tried === undefined) return;
    const noted = note.trim() === "" ? tried.body : { ...tried.body, note: note.trim() };
    const response = await send(path, { method: "POST", body: noted });
    if (response !== undefined && "replay_id" in response.body) go(pathTo("replays", response.body.replay_id));
  };
  return (
    <section ref={panel} class="notice action-panel" aria-label={action}>
      <p class="notice-title">{action}</p>
      <ul>
        {what.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {tried === undefined ? (
        <div class="actions">
          <button type="button" class="primary" disabled={isPreparing} onClick={() => void tryOut()}>
            {isPreparing ? "Counting…" : "Dry run"}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      ) : (
        <>
          {action === "Acknowledge" ? <AckNote note={note} onNote={setNote} field={noteField} /> : null}
          <TriedOut tried={tried} action={action} isBusy={isSending} onConfirm={() => void start()} onClose={onClose} />
        </>
      )}
      <Failures problem={problem} fault={fault} />
    </section>
  );
}

interface TriedOutProps {
  readonly tried: Tried;
  readonly action: BulkVerb;
  readonly isBusy: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

function TriedOut({ tried: { dryRun }, action, isBusy, onConfirm, onClose }: TriedOutProps): JSX.Element {
  const count = publishedBy(dryRun);
  const { matched, limit = matched } = dryRun;
  return (
    <>
      <Facts
        facts={[
          [action === "Replay" ? "Matching deliveries" : "Matching dead letters", formatNumber(dryRun.matched)],
          [action === "Acknowledge" ? "Would be acknowledged" : "Would be sent again", formatNumber(count)],
        ]}
      />
      <ul>
        {notesOf(dryRun, action).map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
      {matched > limit || (count === 0 && dryRun.complete) ? (
        <div class="actions">
          <p>
            {matched > limit
              ? `A request has at most ${formatNumber(limit)}. Choose a shorter time range or another filter.`
              : "Nothing matches. Change the filters, or choose other events."}
          </p>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      ) : (
        <ConfirmCount
          count={count}
          action={bulkLabel(action, count)}
          isBusy={isBusy}
          takesFocus={action !== "Acknowledge"}
          onConfirm={onConfirm}
          onCancel={onClose}
        />
      )}
    </>
  );
}

interface FailuresProps {
  readonly problem: Problem | undefined;
  readonly fault: string | undefined;
}

function Failures({ problem, fault }: FailuresProps): JSX.Element {
  return (
    <>
      {problem === undefined ? null : <ProblemNotice problem={problem} />}
      {fault === undefined ? null : (
        <div class="notice bad" role="alert">
          <p>{fault}</p>
        </div>
      )}
    </>
  );
}

/** How many deliveries a replay would publish, by its dry run. */
export function publishedBy({ matched, in_progress, too_old }: DryRun): number {
  return Math.max(0, matched - in_progress - too_old);
}

/** What a dry run says besides its count. */
export function notesOf(
  { in_progress, too_old, missing, complete }: DryRun,
  action: BulkVerb = "Replay",
): readonly string[] {
  const gone =
    action === "Replay"
      ? `${formatCount(missing, "event is", "events are")} not stored any more.`
      : `${formatCount(missing, "dead letter")} left the list: redriven or acknowledged meanwhile.`;
  return [
    ...(in_progress > 0 ? [`${deliveries(in_progress)} in progress: left as they are.`] : []),
    ...(too_old > 0 ? [`${deliveries(too_old)} too old: the partner may have forgotten their ids.`] : []),
    ...(missing > 0 ? [gone] : []),
    ...(complete ? [] : ["There are more than a dry run counts; the replay takes those too."]),
  ];
}

/** The label of the button that starts it. */
export function bulkLabel(action: BulkVerb, count: number): string {
  return `${action} ${action === "Replay" ? deliveries(count) : formatCount(count, "dead letter")}`;
}

/** A number of deliveries in words. */
function deliveries(count: number): string {
  return formatCount(count, "delivery", "deliveries");
}
