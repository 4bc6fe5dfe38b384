import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAnnounce } from "./announcer.tsx";

interface CopyButtonProps {
  readonly text: string;
  /** What is copied, for screen readers: `the event id`. */
  readonly what: string;
  /** @default "Copy" */
  readonly title?: string;
}

/** Copies a text. */
export function CopyButton({ text, what, title = "Copy" }: CopyButtonProps): JSX.Element {
  const announce = useAnnounce();
  const [label, setLabel] = useState(title);
  const copy = async (): Promise<void> => {
    const isCopied = await writeClipboard(text);
    setLabel(isCopied ? "Copied" : "Not copied");
    announce(isCopied ? `Copied ${what}` : `Could not copy ${what}`);
  };
  return (
    <button
      type="button"
      class="small"
      {...(title === "Copy" ? { "aria-label": `${label} ${what}` } : {})}
      onClick={() => void copy()}
      onBlur={() => setLabel(title)}
    >
      {label}
    </button>
  );
}

/** Whether a text is in the clipboard. Pages of plain HTTP, other than those of this machine, have no `clipboard`. */
async function writeClipboard(text: string): Promise<boolean> {
  const { clipboard } = navigator as { readonly clipboard?: Clipboard };
  if (clipboard === undefined) return copyByCommand(text);
  return clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}

/** Copies by the command of the browser, whose event takes any text. */
function copyByCommand(text: string): boolean {
  const put = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", put);
  const isCopied = document.execCommand("copy");
  document.removeEventListener("copy", put);
  return isCopied;
}

interface CodeProps {
  readonly text: string;
  /** What it is, for screen readers: `the command`. */
  readonly what: string;
}

/** A command or other text to take along, with a button that copies it. */
export function CodeBlock({ text, what }: CodeProps): JSX.Element {
  return (
    <div class="code-block">
      <pre tabIndex={0} role="region" aria-label={what}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  );
}
