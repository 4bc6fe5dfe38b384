// Parts of the page of a partner. Lists of partners are elsewhere.
import type { PartnerDetail } from "../../api/partners.ts";
import type { JSX } from "preact";
import { DataTable, type Column } from "../components/data-table.tsx";
import { Empty } from "../components/empty.tsx";
import { Section } from "../components/page.tsx";

type Subscription = PartnerDetail["subscriptions"][number];

const typesShownMax = 4;

/** The types that a partner gets, the first of many. */
export function TypeList({ types }: { readonly types: readonly string[] }): JSX.Element {
  const more = types.length - typesShownMax;
  return (
    <span title={types.join("\n")}>
      {types.slice(0, typesShownMax).map((type, index) => (
        <span key={type}>
          {index === 0 ? "" : ", "}
          <code>{type}</code>
        </span>
      ))}
      {more > 0 ? ` and ${more} more` : ""}
    </span>
  );
}

const columns: readonly Column<Subscription>[] = [
  { header: "Subscription", cell: ({ name }) => name },
  { header: "Event types", cell: ({ types }) => types.map((type) => <CodeLine key={type} text={type} />) },
  { header: "Tenants", cell: ({ tenants }) => tenants.map((tenant) => <CodeLine key={tenant} text={tenant} />) },
];

function CodeLine({ text }: { readonly text: string }): JSX.Element {
  return (
    <div>
      <code>{text}</code>
    </div>
  );
}

/** What the partner gets. */
export function SubscriptionsSection({ partner }: { readonly partner: PartnerDetail }): JSX.Element {
  return (
    <Section title="Subscriptions">
      <DataTable
        caption="Subscriptions"
        columns={columns}
        rows={partner.subscriptions}
        rowKey={({ name }) => name}
        empty={<Empty title="No subscriptions" why="The partner gets no events of your tenants." />}
      />
    </Section>
  );
}
