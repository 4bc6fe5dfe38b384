import type { JSX } from "preact";
import { CopyButton } from "../components/copy-button.tsx";

interface TextBlockProps {
  readonly text: string;
  readonly what: string;
}

/** A long text in a box that scrolls. */
export function TextBlock({ text, what }: TextBlockProps): JSX.Element {
  return (
    <pre class="text-block" tabIndex={0} role="region" aria-label={what}>
      {text}
    </pre>
  );
}

/** A text with a button that copies it. */
export function CopiedText({ text, what }: TextBlockProps): JSX.Element {
  return (
    <div class="copied">
      <TextBlock text={text} what={what} />
      <CopyButton text={text} what={what} />
    </div>
  );
}

/** Headers as lines of `name: value`. */
export function headerText(headers: readonly (readonly [name: string, value: string])[]): string {
  return headers.map(([name, value]) => `${name}: ${value}`).join("\n");
}
