import type { Replay } from "../../api/replays.ts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayUse, useSession } from "../api/session-context.ts";
import { useRead } from "../api/use-read.ts";
import { useSend } from "../api/use-send.ts";
import type { PageProps } from "../page-entry.ts";
import { Badge } from "../components/badge.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { formatNumber } from "../components/format.ts";
import { Facts } from "../components/data-table.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { Page, Section } from "../components/page.tsx";
import { ProblemNotice } from "../components/problem-notice.tsx";
import { Reading } from "../components/reading.tsx";
import { isGoingOn, Progress } from "../replays/progress.tsx";
import { pathTo } from "../router/place.ts";
import { Link } from "../router/router.tsx";

const everySecondsRunning = 1;
const everySecondsOver = 30;

/** One replay with its progress; it can be cancelled while it publishes. */
export function ReplayPage({ parameters }: PageProps): JSX.Element {
  const { id = "" } = parameters;
  const [isOn, setOn] = useState(true);
  const path = `/webhooks${pathTo("replay", id)}`;
  const read = useRead<Replay>(path, { everySeconds: isOn ? everySecondsRunning : everySecondsOver });
  const goesOn = read.data === undefined ? true : isGoingOn(read.data);
  if (goesOn !== isOn) setOn(goesOn);
  return (
    <Page
      title={`${read.data?.acknowledged === undefined ? "Replay" : "Acknowledgement"} ${id}`}
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

function ReplayFacts({ replay }: { readonly replay: Replay }): JSX.Element {
  const { status, created_at, matched, in_progress, too_old, missing, published, delivered, failed, detail } = replay;
  if (replay.acknowledged !== undefined)
    return (
      <Facts
        facts={[
          ["Status", <Badge key="status" state={status} />],
          ["Requested", <Timestamp key="asked" at={created_at} />],
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
        ["Requested", <Timestamp key="asked" at={created_at} />],
        ["Matching deliveries", formatNumber(matched)],
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
