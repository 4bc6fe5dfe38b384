// Edits before they are applied: what they change, exactly and as a simulation. Applying them is kubectl's business.
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { formatNumber } from "../components/format.ts";

interface ManifestFieldProps {
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** As the server takes at most. */
const lengthMax = 1_048_576;
const rows = 18;

/** A field for YAML that is typed, pasted, dropped or chosen as files. */
export function ManifestField({ text, onText }: ManifestFieldProps): JSX.Element {
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
        WebhookPartner, MetricCatalog and QueryClassQuota objects, as kubectl takes them. Leave Secrets out. Files can
        be dropped here.
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
