import type { PageEntry } from "./page-entry.ts";

const home: PageEntry = {
  path: "/",
  scopes: [],
  label: "Home",
  load: async () => (await import("./home/home-page.tsx")).HomePage,
};

const scopes = ["webhooks:read"];
const replayScopes = ["webhooks:replay", "webhooks:read"];

/** Partners, events, their types, dead letters and replays, in the order of the navigation. */
const webhookPages: readonly PageEntry[] = [
  {
    path: "/partners",
    scopes,
    label: "Partners",
    load: async () => (await import("./pages/partners-page.tsx")).PartnersPage,
  },
  {
    path: "/partners/:namespace/:name",
    scopes,
    below: "/partners",
    load: async () => (await import("./pages/partner-page.tsx")).PartnerPage,
  },
  { path: "/events", scopes, label: "Events", load: async () => (await import("./pages/events-page.tsx")).EventsPage },
  {
    path: "/events/:id",
    scopes,
    below: "/events",
    load: async () => (await import("./pages/event-page.tsx")).EventPage,
  },
  {
    path: "/types",
    scopes,
    label: "Event types",
    load: async () => (await import("./pages/event-types-page.tsx")).EventTypesPage,
  },
  {
    path: "/types/:type",
    scopes,
    below: "/types",
    load: async () => (await import("./pages/event-type-page.tsx")).EventTypePage,
  },
  {
    path: "/dead-letters",
    scopes,
    label: "Dead letters",
    load: async () => (await import("./pages/dead-letters-page.tsx")).DeadLettersPage,
  },
  {
    path: "/replays",
    scopes: replayScopes,
    label: "Replays",
    load: async () => (await import("./pages/replays-page.tsx")).ReplaysPage,
  },
  {
    path: "/replays/:id",
    scopes: replayScopes,
    below: "/replays",
    load: async () => (await import("./pages/replay-page.tsx")).ReplayPage,
  },
];

const readScopes = ["metrics:read", "metrics:read.public"];

/** Explorer, objectives, quotas, usage and previews, in the order of the navigation. */
const metricPages: readonly PageEntry[] = [
  {
    path: "/explorer",
    scopes: readScopes,
    label: "Explorer",
    load: async () => (await import("./pages/explorer-page.tsx")).ExplorerPage,
  },
  {
    path: "/slos",
    scopes: readScopes,
    label: "SLOs",
    load: async () => (await import("./pages/slos-page.tsx")).SlosPage,
  },
  {
    path: "/slos/:name",
    scopes: readScopes,
    below: "/slos",
    load: async () => (await import("./pages/slo-page.tsx")).SloPage,
  },
  {
    path: "/quotas",
    scopes: readScopes,
    label: "Quotas",
    load: async () => (await import("./pages/quotas-page.tsx")).QuotasPage,
  },
  {
    path: "/usage",
    scopes: [...readScopes, "metrics:usage"],
    label: "Usage",
    load: async () => (await import("./pages/usage-page.tsx")).UsagePage,
  },
  {
    path: "/preview",
    scopes: ["admin:preview"],
    label: "Preview",
    load: async () => (await import("./pages/preview-page.tsx")).PreviewPage,
  },
  {
    path: "/preview/:id",
    scopes: ["admin:preview"],
    below: "/preview",
    load: async () => (await import("./pages/preview-result-page.tsx")).PreviewResultPage,
  },
];

/** All pages. The first whose pattern fits a path is shown. */
export const pages: readonly PageEntry[] = [home, ...webhookPages, ...metricPages];
