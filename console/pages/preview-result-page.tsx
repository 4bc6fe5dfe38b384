import type { Preview } from "../../api/previews.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
import type { PageProps } from "../page-entry.ts";
import { Badge } from "../components/badge.tsx";
import { Facts } from "../components/data-table.tsx";
import { formatNumber, formatTime } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { Page } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { EventEffect } from "../preview/event-effect.tsx";
import { QueryEffect } from "../preview/query-effect.tsx";
import { ResourceEffect } from "../preview/resource-effect.tsx";
import { Link } from "../router/router.tsx";

const everySeconds = 1;

/** `/preview/:id`: progress and result of a preview, which the server keeps for a day. */
export function PreviewResultPage({ parameters }: PageProps): JSX.Element {
  const path = `/v1/preview/${encodeURIComponent(parameters["id"] ?? "")}`;
  const first = useRead<Preview>(path);
  const isOpen = first.data !== undefined && !isOver(first.data);
  const next = useRead<Preview>(isOpen ? path : undefined, { everySeconds });
  // The newest answer stays once the preview is over.
  const read = next.data === undefined ? first : next;
  return (
    <Page
      title="Preview"
      lead="The effect of an edit on recorded events, attempts and queries."
      actions={<Link to="/preview">Another edit</Link>}
    >
      <Reading read={read} what="the preview" lines={20}>
        {(preview) => <Outcome preview={preview} />}
      </Reading>
    </Page>
  );
}

function isOver({ status }: Preview): boolean {
  return status === "completed" || status === "failed";
}

function Outcome({ preview }: { readonly preview: Preview }): JSX.Element {
  const { status, created_at: createdAt, events, queries, detail } = preview;
  return (
    <>
      <Facts
        facts={[
          ["State", <Badge key="state" state={status} />],
          ["Started", <Timestamp key="at" at={createdAt} />],
          ["Events compared", events === null ? undefined : formatNumber(events.read)],
          ["Window", events === null ? undefined : `${formatTime(events.from)} to ${formatTime(events.to)}`],
          ["Reason", detail ?? undefined],
        ]}
      />
      <div class="hidden" role="status">
        {isOver(preview) ? `The preview is ${status}` : "The preview is under way"}
      </div>
      <ResourceEffect resources={preview.resources} />
      {events === null ? null : <EventEffect events={events} isOver={isOver(preview)} />}
      <QueryEffect queries={queries} />
    </>
  );
}
