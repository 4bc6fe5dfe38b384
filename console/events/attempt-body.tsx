import type { AttemptHistory, AttemptRequest, AttemptSignature } from "../../api/histories.ts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatNumber } from "../components/format.ts";
import { CopiedText } from "./text-block.tsx";
import { useSentBody } from "./use-raw-event.ts";

interface AttemptBodyProps {
  readonly request: AttemptRequest;
  readonly attempt: Pick<AttemptHistory, "attempt" | "signed">;
  /** The event as its producer sent it; undefined while it is read. */
  readonly event: string | undefined;
  /** Which attempt it is, for screen readers. */
  readonly of: string;
}

/** The body with the digest of what was signed; otherwise why it is not shown. */
export function AttemptBody({
  request,
  attempt: { attempt: number, signed },
  event,
  of,
}: AttemptBodyProps): JSX.Element | null {
  const body = useSentBody(request, number, event);
  // Rendered only when it is opened, since an event may be long.
  const [isOpen, setOpen] = useState(false);
  if (body.state === "reading") return null;
  if (!("text" in body)) return <p class="quiet">{withoutBody(body.state, signed?.canonical_reason)}</p>;
  const bytes = formatNumber(new TextEncoder().encode(body.text).length);
  const isSigned = body.state === "signed";
  return (
    <details open={isOpen} onToggle={(toggled) => setOpen(toggled.currentTarget.open)}>
      <summary>{isSigned ? `Body as signed, ${bytes} bytes` : `Body, ${bytes} bytes, not compared`}</summary>
      {isOpen ? (
        <>
          <p class="quiet">
            {isSigned ? (
              <>
                SHA-256 <code>{request.body_sha256}</code>
              </>
            ) : (
              uncomparedWhy
            )}
          </p>
          <CopiedText text={body.text} what={`Request body, ${of}`} />
        </>
      ) : null}
    </details>
  );
}

const uncomparedWhy = "Over plain HTTP the browser cannot compare it with the digest of the signed body.";

function withoutBody(state: "different" | "unknown", reason: AttemptSignature["canonical_reason"] = null): string {
  if (reason === "part_hidden") return "The body has parts of the event that the partner no longer receives.";
  if (reason === "older_attempt") return "The body is shown for the newest 64 attempts only.";
  return state === "different"
    ? "The body cannot be shown: it is long, and it is not the event as it was accepted."
    : "The body cannot be built again: the record of the attempt does not contain its format.";
}
