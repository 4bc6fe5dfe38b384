import type { AttemptHistory, AttemptRequest } from "../../api/histories.ts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatNumber } from "../components/format.ts";
import { CopiedText, headerText } from "./text-block.tsx";
import { sentBody } from "./use-raw-event.ts";

interface RequestPartProps {
  readonly attempt: AttemptHistory;
  /** The event as its producer sent it; undefined while it is read. */
  readonly event: string | undefined;
  /** Which attempt it is, for screen readers. */
  readonly of: string;
}

/** What was sent: method, URL, headers, and the body that was signed. */
export function RequestPart({ attempt, event, of }: RequestPartProps): JSX.Element {
  const { request, error, attempt: number } = attempt;
  if (request === undefined) {
    return (
      <p class="quiet">
        {error === null
          ? "Not recorded: an earlier version made this attempt."
          : "Nothing was sent, or an earlier version made this attempt."}
      </p>
    );
  }
  return (
    <>
      <p class="request-line">
        <code>
          {request.method} {request.url ?? "(your token does not show the URL)"}
        </code>
      </p>
      <CopiedText text={headerText(request.headers.map(headerLine))} what={`Request headers, ${of}`} />
      {event === undefined ? null : <Body text={sentBody(event, number)} of={of} />}
    </>
  );
}

const markers: Readonly<Record<string, string>> = {
  secret: "[credential, not stored]",
  partner_only: "[not visible to your token]",
};

function headerLine({
  name,
  value,
  value_reason: reason,
}: AttemptRequest["headers"][number]): readonly [string, string] {
  if (value === null) return [name, markers[reason ?? ""] ?? "[not visible]"];
  return [name, reason === "truncated" ? `${value}… [truncated]` : value];
}

/** Built only when it is opened, since an event may be long. */
function Body({ text, of }: { readonly text: string; readonly of: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const bytes = new TextEncoder().encode(text).length;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Body as signed, {formatNumber(bytes)} bytes</summary>
      {isOpen ? <CopiedText text={text} what={`Request body, ${of}`} /> : null}
    </details>
  );
}
