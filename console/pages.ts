import type { PageEntry } from "./page-entry.ts";
import { metricPages } from "./pages/metric-pages.ts";
import { webhookPages } from "./pages/webhook-pages.ts";

const home: PageEntry = {
  path: "/",
  scopes: [],
  label: "Home",
  load: async () => (await import("./home/home-page.tsx")).HomePage,
};

/** All pages. The first whose pattern fits a path is shown. */
export const pages: readonly PageEntry[] = [home, ...webhookPages, ...metricPages];
