import type { PageEntry } from "../page-entry.ts";

const readScopes = ["metrics:read", "metrics:read.public"];

/** Explorer, objectives, quotas, usage and previews, in the order of the navigation. */
export const metricPages: readonly PageEntry[] = [
  {
    path: "/explorer",
    scopes: readScopes,
    label: "Explorer",
    load: async () => (await import("./explorer-page.tsx")).ExplorerPage,
  },
  { path: "/slos", scopes: readScopes, label: "SLOs", load: async () => (await import("./slos-page.tsx")).SlosPage },
  {
    path: "/slos/:name",
    scopes: readScopes,
    below: "/slos",
    load: async () => (await import("./slo-page.tsx")).SloPage,
  },
  {
    path: "/quotas",
    scopes: readScopes,
    label: "Quotas",
    load: async () => (await import("./quotas-page.tsx")).QuotasPage,
  },
  {
    path: "/usage",
    scopes: [...readScopes, "metrics:usage"],
    label: "Usage",
    load: async () => (await import("./usage-page.tsx")).UsagePage,
  },
  {
    path: "/preview",
    scopes: ["admin:preview"],
    label: "Preview",
    load: async () => (await import("./preview-page.tsx")).PreviewPage,
  },
  {
    path: "/preview/:id",
    scopes: ["admin:preview"],
    below: "/preview",
    load: async () => (await import("./preview-result-page.tsx")).PreviewResultPage,
  },
];
