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
    const isCopied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
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
