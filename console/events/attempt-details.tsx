import type { AttemptHistory, AttemptRequest, AttemptSignature } from "../../api/histories.ts";
import type { ComponentChildren, JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { Facts } from "../components/data-table.tsx";
import { formatMs, formatWord } from "../components/format.ts";
import { useFormatTime } from "../components/preferences.tsx";
import { ReplayLink } from "../webhooks/links.tsx";
import { CopiedText, headerText, TextBlock } from "./text-block.tsx";
import { PhaseTable, Waterfall } from "./waterfall.tsx";
import { failureCause, isUnsent } from "./failure-cause.ts";
import { AttemptBody } from "./attempt-body.tsx";

interface AttemptDetailsProps {
  /** `namespace/name`. */
  readonly partner: string;
  readonly attempt: AttemptHistory;
  readonly scaleMs: number;
  readonly isOpen: boolean;
  /** The event as its producer sent it; undefined while it is read. */
  readonly event: string | undefined;
}

/** One attempt: a line with its waterfall; opened, its request, its response and its phases. */
export function AttemptDetails({ partner, attempt, scaleMs, isOpen, event }: AttemptDetailsProps): JSX.Element {
  const { attempt: number, at, duration_ms: ms, settlement, replay_id: replay, pod } = attempt;
  // Each region of the page has a name of its own.
  const formatTime = useFormatTime();
  const of = `attempt ${number} to ${partner}`;
  return (
    <details class="attempt" open={isOpen}>
      <summary>
        <span class="attempt-number">#{number}</span>
        <time dateTime={at}>{formatTime(at)}</time>
        <span class="attempt-answer">{responseBadge(attempt)}</span>
        <span class="attempt-ms number">{formatMs(ms)}</span>
        <Waterfall attempt={attempt} scaleMs={scaleMs} />
      </summary>
      <div class="attempt-body">
        <Facts
          facts={[
            ["Result", settlement === undefined ? undefined : settlementText(settlement, formatTime)],
            ["Replay", replay === null ? undefined : <ReplayLink id={replay} />],
            ["Pod", pod === undefined ? undefined : <code>{pod}</code>],
          ]}
        />
        <div class="attempt-columns">
          <Part title="Request">
            <RequestPart attempt={attempt} event={event} of={of} />
          </Part>
          <Part title="Response">
            <ResponsePart attempt={attempt} of={of} />
          </Part>
          <Part title="Phases">
            <PhaseTable attempt={attempt} of={of} />
          </Part>
          <Part title="Signature">
            <SignedPart signed={attempt.signed} isUnsent={isUnsent(attempt)} of={of} />
          </Part>
        </div>
      </div>
    </details>
  );
}

function responseBadge({ status, error }: AttemptHistory): JSX.Element {
  if (status === null) return <Badge state="failed" label={formatWord(error?.reason ?? "no response")} />;
  return <Badge state={String(status)} tone={toneOf(status)} label={`HTTP ${status}`} />;
}

function toneOf(status: number): "good" | "warn" | "bad" {
  if (status < 300) return "good";
  return status < 500 ? "warn" : "bad";
}

function settlementText(
  { kind, at }: NonNullable<AttemptHistory["settlement"]>,
  formatTime: (at: string) => string,
): string {
  return at === undefined ? formatWord(kind) : `${formatWord(kind)}, due ${formatTime(at)}`;
}

interface PartProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

function Part({ title, children }: PartProps): JSX.Element {
  return (
    <div class="part">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

interface ResponsePartProps {
  readonly attempt: AttemptHistory;
  readonly of: string;
}

function ResponsePart({ attempt, of }: ResponsePartProps): JSX.Element {
  const { response, error, warnings = [] } = attempt;
  const lines = warnings.map((text) => <p key={text}>Warning: {text}</p>);
  if (response === null) {
    return (
      <>
        <p>{error === null ? "No response." : failureCause(error)}</p>
        {lines}
      </>
    );
  }
  const { headers, body, body_truncated: isCut } = response;
  return (
    <>
      <p class="request-line">
        <code>HTTP {attempt.status}</code>
      </p>
      {lines}
      <HeaderLines headers={headers} what={`Response headers, ${of}`} />
      {body === "" ? <p class="quiet">No body.</p> : <TextBlock text={body} what={`Response body, ${of}`} />}
      {isCut ? <p class="quiet">Only the start of the body is stored.</p> : null}
    </>
  );
}

const hiddenWhy =
  "Your token does not show the address of the endpoint, so it is replaced in the text below. Insert it before you " +
  "sign the text.";
const withoutTextWhy: Readonly<Record<string, string>> = {
  too_long: "The signed text is longer than 16 KiB.",
  older_attempt: "The signed text is shown for the newest 64 attempts only.",
  unknown_scheme: "A later version made the attempt, with a scheme that this version does not support.",
  part_hidden: "The signed text covers parts of the event that the partner no longer receives.",
};

interface SignedPartProps {
  readonly signed: AttemptSignature | null | undefined;
  readonly isUnsent: boolean;
  readonly of: string;
}

function SignedPart({ signed, isUnsent: isNotSent, of }: SignedPartProps): JSX.Element {
  if (signed === null || signed === undefined)
    return <p class="quiet">Nothing was signed, or an earlier version made the attempt and did not keep it.</p>;
  const { scheme, key_ids: keys, canonical, canonical_reason: reason, headers } = signed;
  const isHidden = reason === "url_hidden";
  return (
    <>
      <p>
        Scheme <code>{scheme}</code>, {keys.length === 1 ? "key" : "keys"} <code>{keys.join(", ")}</code>.{" "}
        {isNotSent ? "It was not sent. " : ""}
        {isHidden ? hiddenWhy : "Sign the text below with your key and compare the result with the header."}
      </p>
      <HeaderLines headers={headers} what={`Signature headers, ${of}`} hasCopy />
      {canonical === null ? (
        <p class="quiet">{withoutTextWhy[reason ?? ""] ?? "The signed text is not available."}</p>
      ) : (
        <CopiedText text={canonical} what={`Signed text, ${of}`} />
      )}
    </>
  );
}

interface HeaderLinesProps {
  readonly headers: Readonly<Record<string, string>>;
  readonly what: string;
  readonly hasCopy?: boolean;
}

function HeaderLines({ headers, what, hasCopy = false }: HeaderLinesProps): JSX.Element | null {
  const text = headerText(Object.entries(headers));
  if (text === "") return null;
  return hasCopy ? <CopiedText text={text} what={what} /> : <TextBlock text={text} what={what} />;
}

interface RequestPartProps {
  readonly attempt: AttemptHistory;
  /** The event as its producer sent it; undefined while it is read. */
  readonly event: string | undefined;
  /** Which attempt it is, for screen readers. */
  readonly of: string;
}

/** What was sent: method, URL, headers, and the body that was signed. */
function RequestPart({ attempt, event, of }: RequestPartProps): JSX.Element {
  const { request } = attempt;
  if (request === undefined) {
    return (
      <p class="quiet">
        {isUnsent(attempt)
          ? "Nothing was sent: the attempt ended before its request."
          : "Not recorded: an earlier version made this attempt."}
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
      {request.payload === undefined ? null : (
        <p class="quiet">The body is a part of the event: {request.payload.map(payloadText).join(", then ")}.</p>
      )}
      <AttemptBody request={request} attempt={attempt} event={event} of={of} />
    </>
  );
}

function payloadText({ include, exclude = [] }: NonNullable<AttemptRequest["payload"]>[number]): string {
  return include === undefined ? `without ${exclude.join(", ")}` : `only ${include.join(", ")}`;
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
