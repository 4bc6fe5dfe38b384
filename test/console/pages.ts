import type { ConsoleInstallation, ReaderName } from "./console-installation.ts";

/** A page of the console as the walk opens it. */
export interface PageRow {
  /** Of the test and of its pictures: lower case with hyphens. */
  readonly name: string;
  /** Below `/console`, such as `/events?state=dead`. */
  readonly path: string | ((installation: ConsoleInstallation) => string);
  /** @default "admin" */
  readonly reader?: ReaderName;
  /** The heading of the page. */
  readonly heading: string;
  /** Texts that are seen once the page has its answers. */
  readonly sees: readonly string[];
}

/** Every page; the walk opens each in both themes. */
export const pageRows: readonly PageRow[] = [
  {
    name: "home",
    path: "/",
    heading: "Home",
    sees: ["What needs a person", "active partners", "Stores"],
  },
  {
    name: "home-of-metrics",
    path: "/",
    reader: "metrics",
    heading: "Home",
    sees: ["Your token may not read the partners", "Latency p95"],
  },
  { name: "unknown-page", path: "/nowhere", heading: "There is no such page", sees: ["Go to Home"] },
];
