// What every page is made of. Parts know no page and no path of the API.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useRouter } from "../router/router.tsx";

interface PageProps {
  /** The heading, and the title of the document. */
  readonly title: string;
  /** One or two sentences below the heading. */
  readonly lead?: ComponentChildren;
  /** Buttons and links next to the heading. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The frame of every page. Its heading takes the focus after navigation, so that screen readers read on from there. */
export function Page({ title, lead, actions, children }: PageProps): JSX.Element {
  const { visits, place } = useRouter();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Heliograph`;
  }, [title]);
  useEffect(() => {
    if (visits === 0) return;
    window.scrollTo(0, 0);
    heading.current?.focus({ preventScroll: true });
  }, [visits, place.path]);
  return (
    <>
      <div class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </div>
      {lead === undefined ? null : <p class="lead">{lead}</p>}
      {children}
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A part of a page with a heading of its own. */
export function Section({ title, lead, actions, children }: SectionProps): JSX.Element {
  return (
    <section class="section">
      <div class="section-head">
        <h2>{title}</h2>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </div>
      {lead === undefined ? null : <p class="lead">{lead}</p>}
      {children}
    </section>
  );
}
