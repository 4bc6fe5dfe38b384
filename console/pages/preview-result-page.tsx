import type { Preview, PreviewedResources } from "../../api/previews.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
import type { PageProps } from "../page-entry.ts";
import { Badge } from "../components/badge.tsx";
import { DataTable, Facts } from "../components/data-table.tsx";
import { formatNumber, formatTime } from "../components/format.ts";
import { Timestamp } from "../components/timestamp.tsx";
import { Page, Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { EventEffect } from "../preview/event-effect.tsx";
import { QueryEffect, ReaderEffect } from "../preview/query-effect.tsx";
import { Link } from "../router/router.tsx";
import { Empty } from "../components/empty.tsx";

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
  const { status, created_at: createdAt, events, queries, readers, detail } = preview;
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
        {isOver(preview) ? `The preview is ${status}` : "The preview is running"}
      </div>
      <ResourceEffect resources={preview.resources} />
      {events === null ? null : <EventEffect events={events} isOver={isOver(preview)} />}
      {readers === undefined ? null : <ReaderEffect readers={readers} />}
      <QueryEffect queries={queries} />
    </>
  );
}

interface ObjectRow {
  readonly object: string;
  readonly effect: "added" | "removed" | "refused";
  readonly why: string;
}

/** Which objects and fields differ. */
function ResourceEffect({ resources }: { readonly resources: PreviewedResources }): JSX.Element {
  const rows = objectRows(resources);
  const fields = resources.changed.flatMap(({ object, fields: own }) => own.map((field) => ({ object, ...field })));
  const isEqual = rows.length === 0 && fields.length === 0;
  return (
    <Section title="Resources" lead={othersOf(resources)}>
      {rows.length === 0 ? null : (
        <DataTable
          caption="Objects that are added, removed or rejected"
          isCards
          look="labelled"
          rows={rows}
          rowKey={({ object, effect }) => `${effect} ${object}`}
          columns={[
            { header: "Object", cell: ({ object }) => object },
            {
              header: "Effect",
              cell: ({ effect }) => (
                <Badge state={effect} tone={tones[effect]} label={effect === "refused" ? "rejected" : effect} />
              ),
              isInCard: true,
            },
            { header: "Reason", cell: ({ why }) => why, isInCard: true },
          ]}
        />
      )}
      {fields.length === 0 ? null : (
        <DataTable
          caption="Fields that change"
          isCards
          look="labelled field-rows"
          rows={fields}
          rowKey={({ object, field }) => `${object} ${field}`}
          columns={[
            { header: "Object", cell: ({ object }) => object },
            { header: "Field", cell: ({ field }) => <code>{field}</code>, isInCard: true },
            { header: "Before", cell: (row) => <Value {...{ row }} side="before" />, isInCard: true },
            { header: "After", cell: (row) => <Value {...{ row }} side="after" />, isInCard: true },
          ]}
        />
      )}
      <PayloadEffect resources={resources} />
      {isEqual ? <Empty title="No difference" why="The edit equals the applied configuration." /> : null}
    </Section>
  );
}

/** Which partners get other sensitive fields. Servers of earlier versions do not compare them. */
function PayloadEffect({
  resources: { payloads = [] },
}: {
  readonly resources: PreviewedResources;
}): JSX.Element | null {
  if (payloads.length === 0) return null;
  const shown = payloads.some(({ visible }) => visible.length > 0);
  return (
    <>
      <p class={shown ? "notice warn" : "notice"}>
        {shown ? "Partners would get sensitive fields that they do not get now." : "Partners would get fewer fields."}
      </p>
      <DataTable
        caption="Sensitive fields that partners get"
        isCards
        look="labelled"
        rows={payloads}
        rowKey={({ partner, type }) => `${partner} ${type}`}
        columns={[
          { header: "Partner", cell: ({ partner }) => partner },
          { header: "Event type", cell: ({ type }) => type, isInCard: true },
          { header: "Newly gets", cell: ({ visible }) => <Pointers pointers={visible} />, isInCard: true },
          { header: "No longer gets", cell: ({ hidden }) => <Pointers pointers={hidden} />, isInCard: true },
        ]}
      />
    </>
  );
}

function Pointers({ pointers }: { readonly pointers: readonly string[] }): JSX.Element {
  return pointers.length === 0 ? (
    <span class="quiet">–</span>
  ) : (
    <ul class="plain">
      {pointers.map((pointer) => (
        <li key={pointer}>
          <code>{pointer}</code>
        </li>
      ))}
    </ul>
  );
}

/** Objects that stay: those that the edit does not name are among the unchanged ones. */
export function othersOf({ unchanged, unnamed, removed }: PreviewedResources): string {
  const kept = unnamed.filter((object) => !removed.includes(object)).length;
  if (kept === 0) return `${formatNumber(unchanged)} unchanged.`;
  // A token that is limited to partners is not told how many objects are unchanged.
  if (kept > unchanged) return `${formatNumber(kept)} not in the edit.`;
  return `${formatNumber(unchanged)} unchanged, of which the edit does not name ${formatNumber(kept)}.`;
}

const tones = { added: "good", removed: "warn", refused: "bad" } as const;

function objectRows({ added, removed, refused }: PreviewedResources): readonly ObjectRow[] {
  return [
    ...refused.map(
      ({ object, reason, message }) => ({ object, effect: "refused", why: `${reason}: ${message}` }) as const,
    ),
    ...removed.map((object) => ({ object, effect: "removed", why: "" }) as const),
    ...added.map((object) => ({ object, effect: "added", why: "" }) as const),
  ];
}

type FieldChange = PreviewedResources["changed"][number]["fields"][number];

interface ValueProps {
  readonly row: FieldChange;
  readonly side: "before" | "after";
}

function Value({ row, side }: ValueProps): JSX.Element {
  return row[side] === undefined ? <span class="quiet">{absentText(row, side)}</span> : <code>{row[side]}</code>;
}

/**
 * Why a value is absent. Values of headers and addresses, and those of before for some tokens, are hidden by the
 * server. Servers of earlier versions do not list what they hide.
 */
export function absentText({ field, before, after, hidden }: FieldChange, side: "before" | "after"): string {
  if (hidden?.includes(side) ?? (before === undefined && after === undefined)) return "hidden";
  const isEntry = field.endsWith("]");
  return isEntry && side === "after" ? "removed" : "not set";
}
