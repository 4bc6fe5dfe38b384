import type { PreviewedResources } from "../../api/previews.ts";
import type { JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { DataTable } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { formatNumber } from "../components/format.ts";
import { Section } from "../components/page.tsx";

interface ObjectRow {
  readonly object: string;
  readonly effect: "added" | "removed" | "refused";
  readonly why: string;
}

/** Which objects and fields differ. */
export function ResourceEffect({ resources }: { readonly resources: PreviewedResources }): JSX.Element {
  const { unchanged, unnamed } = resources;
  const rows = objectRows(resources);
  const fields = resources.changed.flatMap(({ object, fields: own }) => own.map((field) => ({ object, ...field })));
  const isEqual = rows.length === 0 && fields.length === 0;
  const others = `${formatNumber(unchanged)} unchanged, ${formatNumber(unnamed.length)} not in the edit.`;
  return (
    <Section title="Resources" lead={others}>
      {rows.length === 0 ? null : (
        <DataTable
          caption="Objects that are added, removed or rejected"
          rows={rows}
          rowKey={({ object, effect }) => `${effect} ${object}`}
          columns={[
            { header: "Object", cell: ({ object }) => object },
            {
              header: "Effect",
              cell: ({ effect }) => (
                <Badge state={effect} tone={tones[effect]} label={effect === "refused" ? "rejected" : effect} />
              ),
            },
            { header: "Reason", cell: ({ why }) => why },
          ]}
        />
      )}
      {fields.length === 0 ? null : (
        <DataTable
          caption="Fields that change"
          rows={fields}
          rowKey={({ object, field }) => `${object} ${field}`}
          columns={[
            { header: "Object", cell: ({ object }) => object },
            { header: "Field", cell: ({ field }) => <code>{field}</code> },
            { header: "Before", cell: ({ before }) => <Value text={before} /> },
            { header: "After", cell: ({ after }) => <Value text={after} /> },
          ]}
        />
      )}
      {isEqual ? <Empty title="No difference" why="The edit equals the applied configuration." /> : null}
    </Section>
  );
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

/** Values of headers and addresses, and those of before for some tokens, are not shown by the server. */
function Value({ text }: { readonly text: string | undefined }): JSX.Element {
  return text === undefined ? <span class="quiet">not shown</span> : <code>{text}</code>;
}
