import type { AttemptHistory, AttemptSignature } from "../../api/histories.ts";
import type { ComponentChildren, JSX } from "preact";
import { Badge } from "../components/badge.tsx";
import { CopyButton } from "../components/copy-button.tsx";
import { Facts } from "../components/data-table.tsx";
import { formatMs, formatTime, formatWord } from "../components/format.ts";
import { ReplayLink } from "../webhooks/links.tsx";
import { TextBlock } from "./package-section.tsx";
import { PhaseTable, Waterfall } from "./waterfall.tsx";

interface AttemptDetailsProps {
  /** `namespace/name`. */
  readonly partner: string;
  readonly attempt: AttemptHistory;
  readonly scaleMs: number;
  readonly isOpen: boolean;
}

/** One attempt: a line with its waterfall; opened, all that is known of it. */
export function AttemptDetails({ partner, attempt, scaleMs, isOpen }: AttemptDetailsProps): JSX.Element {
  const { attempt: number, at, duration_ms: ms, settlement, replay_id: replay, pod } = attempt;
  // Each region of the page has a name of its own.
  const of = `attempt ${number} to ${partner}`;
  return (
    <details class="attempt" open={isOpen}>
      <summary>
        <span class="attempt-number">#{number}</span>
        <time dateTime={at}>{formatTime(at)}</time>
        <span class="attempt-answer">{answerBadge(attempt)}</span>
        <span class="attempt-ms number">{formatMs(ms)}</span>
        <Waterfall attempt={attempt} scaleMs={scaleMs} />
      </summary>
      <div class="attempt-body">
        <Facts
          facts={[
            ["Followed by", settlement === undefined ? undefined : settlementText(settlement)],
            ["Replay", replay === null ? undefined : <ReplayLink id={replay} />],
            ["Pod", pod === undefined ? undefined : <code>{pod}</code>],
          ]}
        />
        <div class="attempt-columns">
          <Part title="Phases">
            <PhaseTable attempt={attempt} of={of} />
          </Part>
          <Part title="Answer">
            <AnswerPart attempt={attempt} of={of} />
          </Part>
        </div>
        <Part title="Verify by hand">
          <SignedPart signed={attempt.signed} of={of} />
        </Part>
      </div>
    </details>
  );
}

function answerBadge({ status, error }: AttemptHistory): JSX.Element {
  if (status === null) return <Badge state="failed" label={formatWord(error?.reason ?? "no answer")} />;
  return <Badge state={String(status)} tone={toneOf(status)} label={`HTTP ${status}`} />;
}

function toneOf(status: number): "good" | "warn" | "bad" {
  if (status < 300) return "good";
  return status < 500 ? "warn" : "bad";
}

function settlementText({ kind, at }: NonNullable<AttemptHistory["settlement"]>): string {
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

interface AnswerPartProps {
  readonly attempt: AttemptHistory;
  readonly of: string;
}

function AnswerPart({ attempt, of }: AnswerPartProps): JSX.Element {
  const { response, error, warnings = [] } = attempt;
  const lines = warnings.map((text) => <p key={text}>Warning: {text}</p>);
  if (response === null) {
    return (
      <>
        <p>{error === null ? "No response." : error.detail}</p>
        {lines}
      </>
    );
  }
  const { headers, body, body_truncated: isCut } = response;
  return (
    <>
      {lines}
      <HeaderLines headers={headers} what={`Headers of the answer, ${of}`} />
      {body === "" ? <p class="quiet">No body.</p> : <TextBlock text={body} what={`Body of the answer, ${of}`} />}
      {isCut ? <p class="quiet">Only the start of the body is kept.</p> : null}
    </>
  );
}

const hiddenWhy =
  "In the text below, the address of the endpoint is replaced, since only the partner may see it. Put it back before " +
  "you sign the text.";
const withoutTextWhy: Readonly<Record<string, string>> = {
  too_long: "The text under the signature is longer than 16 KiB.",
  older_attempt: "The text under the signature is shown for the newest 64 attempts only.",
  unknown_scheme: "A later version made the attempt, with a scheme that this one does not know.",
};

interface SignedPartProps {
  readonly signed: AttemptSignature | null | undefined;
  readonly of: string;
}

function SignedPart({ signed, of }: SignedPartProps): JSX.Element {
  if (signed === null || signed === undefined)
    return <p class="quiet">Nothing was signed, or an earlier version made the attempt and did not keep it.</p>;
  const { scheme, key_ids: keys, canonical, canonical_reason: reason, headers } = signed;
  const isHidden = reason === "url_hidden";
  return (
    <>
      <p>
        Scheme <code>{scheme}</code>, {keys.length === 1 ? "key" : "keys"} <code>{keys.join(", ")}</code>.{" "}
        {isHidden ? hiddenWhy : "Sign the text below with your key and compare the result with the header."}
      </p>
      <HeaderLines headers={headers} what={`AttemptSignature headers, ${of}`} hasCopy />
      {canonical === null ? (
        <p class="quiet">{withoutTextWhy[reason ?? ""] ?? "The text under the signature is not known."}</p>
      ) : (
        <div class="copied">
          <TextBlock text={canonical} what={`The text under the signature, ${of}`} />
          <CopyButton text={canonical} what={`the text under the signature, ${of}`} />
        </div>
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
  const text = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
  if (text === "") return null;
  return (
    <div class="copied">
      <TextBlock text={text} what={what} />
      {hasCopy ? <CopyButton text={text} what={what} /> : null}
    </div>
  );
}
