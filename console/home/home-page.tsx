// The first page: health, and what needs a person. Each need is solved on another page.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";
import { MetricsSection } from "./metrics-section.tsx";
import { NeedsSection } from "./needs-section.tsx";

/** Health of both halves, and what needs a person. */
export function HomePage(): JSX.Element {
  return (
    <Page title="Home" lead="Health of this installation, as far as your token may see it.">
      <NeedsSection />
      <MetricsSection />
    </Page>
  );
}
