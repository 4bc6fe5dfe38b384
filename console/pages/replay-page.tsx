import type { Replay, ReplaySummary } from "../../api/replays.ts";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import { useRead } from "../api/use-read.ts";
import { useSend } from "../api/use-send.ts";
import type { PageProps } from "../page-entry.ts";
import { Badge } from "../components/badge.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { formatNumber, formatWord } from "../components/format.ts";
import { useFormatTime } from "../components/preferences.tsx";
import { PartnerLink } from "../webhooks/links.tsx";
import { windowWords } from "./replays-page.tsx";
import { Facts } from "../components/data-table.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Page, Section } from "../components/page.tsx";
import { ProblemNotice } from "../components/problem-notice.tsx";
import { Reading } from "../components/reading.tsx";
import { isGoingOn, Progress, selectedBy } from "../replays/progress.tsx";
import { pathTo } from "../router/place.ts";
import { Link } from "../router/router.tsx";

const everySecondsRunning = 1;
const everySecondsOver = 30;

/** Servers of earlier versions return the progress only. */
type ReplayDetail = Replay & Partial<ReplaySummary>;

const titles: Readonly<Record<ReplaySummary["kind"], string>> = {
  replay: "Replay",
  redrive: "Redrive",
  acknowledge: "Acknowledgement",
};

/** One replay: what it sends, for whom, and its progress; it can be cancelled while it publishes. */
export function ReplayPage({ parameters }: PageProps): JSX.Element {
  const { id = "" } = parameters;
  const [isOn, setOn] = useState(true);
  const path = `/webhooks${pathTo("replay", id)}`;
  const read = useRead<ReplayDetail>(path, { everySeconds: isOn ? everySecondsRunning : everySecondsOver });
  const goesOn = read.data === undefined ? true : isGoingOn(read.data);
  if (goesOn !== isOn) setOn(goesOn);
  return (
    <Page
      title={`${titles[read.data?.kind ?? (read.data?.acknowledged === undefined ? "replay" : "acknowledge")]} ${id}`}
      actions={
        <>
          <CopyButton text={id} what="the replay id" />
          <Link to="/replays">All replays</Link>
        </>
      }
    >
      <Reading read={read} what="the replay" lines={10}>
        {(replay) => (
          <>
            <Cancel path={path} replay={replay} onDone={read.refresh} />
            <Request replay={replay} />
            <Section title="Progress">
              <Progress replay={replay} />
              <ReplayFacts replay={replay} />
            </Section>
          </>
        )}
      </Reading>
    </Page>
  );
}

/** What was requested, and by whom. */
function Request({ replay }: { readonly replay: ReplayDetail }): JSX.Element {
  const formatTime = useFormatTime();
  const at = <Timestamp at={replay.created_at} shows="both" />;
  const { kind, filter } = replay;
  if (kind === undefined || filter === undefined) return <Facts facts={[["Requested", at]]} />;
  return (
    <Facts
      facts={[
        ["Requested by", replay.requested_by ?? "not known"],
        ["Requested", at],
        ["Partners", partnersOf(replay)],
        ...selectionFacts({ ...replay, kind, filter }, formatTime),
      ]}
    />
  );
}

/** The partners of the request, or of what it selected so far, which servers of earlier versions do not report. */
function partnersOf({ kind, filter, event_ids: ids = null, selected_partners: selected }: ReplayDetail) {
  const { partners = [] } = filter ?? {};
  if (partners.length > 0) return <PartnerLinks partners={partners} />;
  if (selected !== undefined) return <PartnerLinks partners={selected} />;
  if (ids === null) return "all that match";
  return kind === "replay" ? "all that match the selected events" : "those of the selected dead letters";
}

type Selection = Pick<ReplaySummary, "kind" | "filter"> & ReplayDetail;

function selectionFacts(
  { kind, filter: { types, only_failed: onlyFailed }, window = null, event_ids: ids = null, reason, note }: Selection,
  formatTime: (at: string) => string,
): readonly (readonly [name: string, value: ComponentChildren | undefined])[] {
  const isReplay = kind === "replay";
  const states = onlyFailed ? "failed ones only" : "delivered ones too";
  return [
    ["Event types", typesOf(types, ids)],
    ["Selected ids", ids === null ? undefined : formatNumber(ids)],
    ["Note to the partner", note],
    [isReplay ? "Accepted" : "Ended", window === null ? undefined : windowWords(window, formatTime)],
    ["Reason", reason === undefined ? undefined : formatWord(reason)],
    ["Deliveries", isReplay ? states : undefined],
  ];
}

function typesOf(types: readonly string[], ids: number | null): ComponentChildren | undefined {
  if (types.length > 0) return <code>{types.join(", ")}</code>;
  return ids === null ? "all" : undefined;
}

function PartnerLinks({ partners }: { readonly partners: readonly string[] }): JSX.Element {
  return (
    <ul class="plain">
      {partners.map((partner) => (
        <li key={partner}>
          <PartnerLink partner={partner} />
        </li>
      ))}
    </ul>
  );
}

function ReplayFacts({ replay }: { readonly replay: Replay }): JSX.Element {
  const { status, matched, in_progress, too_old, missing, published, delivered, failed, detail } = replay;
  if (replay.acknowledged !== undefined)
    return (
      <Facts
        facts={[
          ["Status", <Badge key="status" state={status} />],
          ["Matching dead letters", formatNumber(matched)],
          ["Acknowledged", formatNumber(replay.acknowledged)],
          ["Detail", detail ?? undefined],
        ]}
      />
    );
  return (
    <Facts
      facts={[
        ["Status", <Badge key="status" state={status} />],
        ["Matching deliveries", formatNumber(selectedBy(replay))],
        ["Published", formatNumber(published)],
        ["Delivered", formatNumber(delivered)],
        ["Failed", formatNumber(failed)],
        ["Skipped: still being delivered", formatNumber(in_progress)],
        ["Skipped: too old", formatNumber(too_old)],
        ["Skipped: event not stored", formatNumber(missing)],
        ["Detail", detail ?? undefined],
      ]}
    />
  );
}

interface CancelProps {
  readonly path: string;
  readonly replay: Replay;
  readonly onDone: () => void;
}

function Cancel({ path, replay: { status, acknowledged }, onDone }: CancelProps): JSX.Element | null {
  const scope = acknowledged === undefined ? "webhooks:replay" : "webhooks:ack";
  const { me } = useSession();
  const { isSending, problem, send } = useSend<Replay>();
  if (!mayUse(me, [scope]) || (status !== "queued" && status !== "running")) return null;
  const cancel = async (): Promise<void> => {
    if ((await send(path, { method: "DELETE" })) !== undefined) onDone();
  };
  return (
    <>
      <div class="actions">
        <button type="button" class="danger" disabled={isSending} onClick={() => void cancel()}>
          Cancel the {acknowledged === undefined ? "replay" : "acknowledgement"}
        </button>
        {acknowledged === undefined ? <span class="quiet">Published deliveries continue.</span> : null}
      </div>
      {problem === undefined ? null : <ProblemNotice problem={problem} />}
    </>
  );
}
