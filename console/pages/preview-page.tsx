import type { Preview } from "../../api/previews.ts";
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { useSend } from "../api/use-send.ts";
import { Page } from "../components/page.tsx";
import { ProblemNotice } from "../components/problem-notice.tsx";
import { pathTo } from "../router/place.ts";
import { useRouter } from "../router/router.tsx";
import { formatNumber } from "../components/format.ts";

const hourMs = 3_600_000;
const spans = [
  ["1", "Last hour"],
  ["24", "Last 24 hours"],
  ["168", "Last 7 days"],
] as const;

/** `/preview`: what an edit of resources would do, before it is applied. The result has an address of its own. */
export function PreviewPage(): JSX.Element {
  const { go } = useRouter();
  const [manifests, setManifests] = useState("");
  const { send, isSending, problem, clear } = useSend<Preview>();
  const start = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const values = new FormData(event.currentTarget as HTMLFormElement);
    const from = new Date(Date.now() - Number(values.get("hours")) * hourMs).toISOString();
    const body = { manifests, prune: values.get("prune") === "on", from };
    const response = await send("/v1/preview", { method: "POST", body });
    if (response !== undefined) go(pathTo("preview", response.body.preview_id));
  };
  return (
    <Page
      title="Preview of an edit"
      lead="Compares edited resources with the applied configuration. It changes nothing."
    >
      <form class="preview-form" onSubmit={(event) => void start(event)}>
        <ManifestField
          text={manifests}
          onText={(text) => {
            setManifests(text);
            clear();
          }}
        />
        <div class="filters">
          <label>
            <span>Time range</span>
            <select name="hours" defaultValue="24">
              {spans.map(([hours, label]) => (
                <option key={hours} value={hours} selected={hours === "24"}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <fieldset class="check-list">
            <legend>Other resources</legend>
            <label>
              <input type="checkbox" name="prune" />
              Remove resources that are not in the edit
            </label>
          </fieldset>
          <button type="submit" class="primary" disabled={isSending || manifests.trim() === ""}>
            {isSending ? "Starting" : "Preview"}
          </button>
        </div>
      </form>
      {problem === undefined ? null : <ProblemNotice problem={problem} />}
    </Page>
  );
}

interface ManifestFieldProps {
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** As the server takes at most. */
const lengthMax = 1_048_576;
const rows = 18;

/** A field for YAML that is typed, pasted, dropped or chosen as files. */
function ManifestField({ text, onText }: ManifestFieldProps): JSX.Element {
  const id = useId();
  const [fault, setFault] = useState("");
  const take = async (files: FileList | null | undefined): Promise<void> => {
    const given = [...(files ?? [])];
    if (given.length === 0) return;
    const bytes = given.reduce((sum, { size }) => sum + size, 0);
    if (bytes > lengthMax) {
      setFault(`These files have ${formatNumber(bytes)} bytes; at most ${formatNumber(lengthMax)} can be previewed.`);
      return;
    }
    setFault("");
    const texts = await Promise.all(given.map(async (file) => file.text()));
    onText(texts.join("\n---\n"));
  };
  return (
    <div class="manifests">
      <label for={`${id}-text`}>Edited resources, YAML</label>
      <textarea
        id={`${id}-text`}
        rows={rows}
        spellcheck={false}
        autoComplete="off"
        maxLength={lengthMax}
        value={text}
        aria-describedby={`${id}-hint`}
        onInput={(event) => onText(event.currentTarget.value)}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          void take(event.dataTransfer?.files);
        }}
      />
      <p id={`${id}-hint`} class="hint">
        WebhookPartner, MetricCatalog, QueryClassQuota and EventCatalog objects. Secrets are skipped. Files can be
        dropped here.
      </p>
      <label class="file">
        <span class="hint">Or choose files</span>
        <input
          type="file"
          multiple
          accept=".yaml,.yml,.json"
          onChange={(event) => void take(event.currentTarget.files)}
        />
      </label>
      {fault === "" ? null : <p role="alert">{fault}</p>}
    </div>
  );
}
