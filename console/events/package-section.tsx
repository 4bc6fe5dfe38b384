import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useSession } from "../api/session-context.ts";
import { CopyButton } from "../components/copy-button.tsx";
import { formatNumber } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Skeleton } from "../components/reading.tsx";
import { indentJson, rawMember } from "./raw-json.ts";

/** Longer packages are shown as they are. */
const indentedLengthMax = 256 * 1024;

/** The package as the producer sent it. @param path of the event's history */
export function PackageSection({ path }: { readonly path: string }): JSX.Element {
  const { api } = useSession();
  const [raw, setRaw] = useState<string | undefined>(undefined);
  const [isAbsent, setAbsent] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    api.readText(path, "application/json", abort.signal).then(
      (text) => {
        const found = rawMember(text, "event");
        setRaw(found);
        setAbsent(found === undefined);
      },
      () => abort.signal.aborted || setAbsent(true),
    );
    return () => abort.abort();
  }, [api, path]);
  const shown = useMemo(() => (raw === undefined || raw.length > indentedLengthMax ? raw : indentJson(raw)), [raw]);
  return (
    <Section
      title="Package"
      lead={
        raw === undefined
          ? undefined
          : `${formatNumber(new TextEncoder().encode(raw).length)} bytes. Indented for reading; copied as received.`
      }
      actions={raw === undefined ? undefined : <CopyButton text={raw} what="the package as received" />}
    >
      {raw === undefined && !isAbsent ? <Skeleton what="the package" lines={6} /> : null}
      {isAbsent ? <p class="lead">The package cannot be shown as it was received. Read the page again.</p> : null}
      {shown === undefined ? null : <TextBlock text={shown} what="The package" />}
    </Section>
  );
}

interface TextBlockProps {
  readonly text: string;
  readonly what: string;
}

/** A longer text that scrolls by itself. */
export function TextBlock({ text, what }: TextBlockProps): JSX.Element {
  return (
    <pre class="text-block" tabIndex={0} role="region" aria-label={what}>
      {text}
    </pre>
  );
}
