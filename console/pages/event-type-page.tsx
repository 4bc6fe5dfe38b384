import type { EventTypeDetail, EventTypeVersion } from "../../api/events.ts";
import type { JSX } from "preact";
import { useRead } from "../api/use-read.ts";
import { CodeBlock, CopyButton } from "../components/copy-button.tsx";
import { Facts } from "../components/data-table.tsx";
import { Page, Section } from "../components/page.tsx";
import { Reading } from "../components/reading.tsx";
import { Timestamp } from "../components/timestamp.tsx";
import { SchemaTree, StateAndEnd } from "../event-types/schema-tree.tsx";
import type { PageProps } from "../page-entry.ts";
import { changedQuery, pathTo } from "../router/place.ts";
import { Link, useQueryState } from "../router/router.tsx";

/** One event type: what it means, who owns it, and the schema and examples of a version. */
export function EventTypePage({ parameters }: PageProps): JSX.Element {
  const { type = "" } = parameters;
  const read = useRead<EventTypeDetail>(`/webhooks${pathTo("types", type)}`);
  return (
    <Page
      title={type}
      actions={
        <>
          <CopyButton text={type} what="the event type" />
          <Link to={`/events${changedQuery(new URLSearchParams(), { type })}`}>Events of this type</Link>
          <Link to="/types">All event types</Link>
        </>
      }
    >
      <Reading read={read} what="the event type" lines={12}>
        {(found) => <TypeDetail found={found} />}
      </Reading>
    </Page>
  );
}

function TypeDetail({ found }: { readonly found: EventTypeDetail }): JSX.Element {
  const { get } = useQueryState();
  const { description, owner, contact, catalog, versions, sensitive = [] } = found;
  const version = versions.find((one) => one.version === get("version")) ?? versions[0];
  return (
    <>
      <p class="lead">{description}</p>
      <Facts
        facts={[
          ["Owner", owner],
          ["Contact", contact],
          ["Event catalog", catalog],
        ]}
      />
      <Section title="Versions">
        <Versions all={versions} shown={version} />
        {version === undefined ? null : (
          <VersionDetail version={version} classes={new Map(sensitive.map((one) => [one.pointer, one.class]))} />
        )}
      </Section>
    </>
  );
}

interface VersionsProps {
  readonly all: readonly EventTypeVersion[];
  readonly shown: EventTypeVersion | undefined;
}

function Versions({ all, shown }: VersionsProps): JSX.Element {
  const state = useQueryState();
  return (
    <nav class="choices type-versions" aria-label="Versions">
      {all.map((one, index) => (
        <Link key={one.version} to={state.to({ version: index === 0 ? null : one.version })} isCurrent={one === shown}>
          {one.version} <StateAndEnd state={one.state} end={one} />
        </Link>
      ))}
    </nav>
  );
}

interface VersionDetailProps {
  readonly version: EventTypeVersion;
  readonly classes: ReadonlyMap<string, string>;
}

function VersionDetail({ version, classes }: VersionDetailProps): JSX.Element {
  const { schema, examples, state, deprecated_at: deprecated, sunset_at: sunset } = version;
  const text = JSON.stringify(schema, undefined, 2);
  return (
    <>
      {state === "Active" ? null : (
        <div class="notice warn">
          <p class="notice-title">
            Version {version.version} is {state.toLowerCase()}
          </p>
          <Facts
            facts={[
              ["Deprecated", deprecated === undefined ? undefined : <Timestamp at={deprecated} shows="both" />],
              [
                state === "Retired" ? "New events rejected since" : "New events rejected from",
                sunset === undefined ? "no end is planned" : <Timestamp at={sunset} shows="both" />,
              ],
            ]}
          />
        </div>
      )}
      <div class="type-version">
        <div>
          <h3>Data</h3>
          <SchemaTree key={version.version} schema={schema} classes={classes} />
        </div>
        <div>
          {examples.map((example, index) => (
            <div key={index}>
              <h3>{examples.length === 1 ? "Example" : `Example ${index + 1}`}</h3>
              <CodeBlock
                text={JSON.stringify(example, undefined, 2)}
                what={examples.length === 1 ? "the example" : `example ${index + 1}`}
              />
            </div>
          ))}
          {examples.length === 0 ? <p class="quiet">The version has no example.</p> : null}
          <details class="type-schema">
            <summary>JSON Schema</summary>
            <CodeBlock text={text} what="the JSON Schema" />
          </details>
        </div>
      </div>
    </>
  );
}
