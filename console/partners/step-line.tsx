import type { JSX } from "preact";
import { CodeBlock } from "../components/copy-button.tsx";
import type { Step } from "./advice.ts";

/** A step with the text to copy for it. */
export function StepLine({ step }: { readonly step: Step | undefined }): JSX.Element | null {
  if (step === undefined) return null;
  return (
    <>
      <p class="quiet">{step.label}</p>
      <CodeBlock text={step.text} what={step.label.replace(/:$/u, "")} />
    </>
  );
}
