import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { CopyButton } from "../components/copy-button.tsx";
import { formatNumber } from "../components/format.ts";
import { Section } from "../components/page.tsx";
import { Skeleton } from "../components/reading.tsx";
import { indentJson } from "./raw-json.ts";
import { TextBlock } from "./text-block.tsx";
import type { RawEvent } from "./use-raw-event.ts";

/** Longer packages are shown as they are. */
const indentedLengthMax = 256 * 1024;

/** The package as the producer sent it. */
export function PackageSection({ raw: { text: raw, isAbsent } }: { readonly raw: RawEvent }): JSX.Element {
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
      {isAbsent ? <p class="lead">The package cannot be shown as it was received. Reload the page.</p> : null}
      {shown === undefined ? null : <TextBlock text={shown} what="The package" />}
    </Section>
  );
}
