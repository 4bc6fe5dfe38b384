import type { ComponentType } from "preact";
import type { PathParameters } from "./router/place.ts";

/** What a page gets. Its other state is the query of the address. */
export interface PageProps {
  readonly parameters: PathParameters;
}

/** A page of the console. */
export interface PageEntry {
  /** Pattern below `/console`, such as `/partners/:namespace/:name`. */
  readonly path: string;
  /** Scopes of which a reader needs one; the server decides, this only hides what would be rejected. */
  readonly scopes: readonly string[];
  /** Name in the navigation. @default the page has no place there */
  readonly label?: string;
  /** The navigation that is marked while this page is shown. @default this page's own path */
  readonly below?: string;
  /** Loads the code of the page. */
  readonly load: () => Promise<ComponentType<PageProps>>;
}
