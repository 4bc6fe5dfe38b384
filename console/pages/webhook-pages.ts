// The pages besides Home, one file each. Parts that several of them use are elsewhere.
import type { PageEntry } from "../page-entry.ts";

const scopes = ["webhooks:read"];
const replayScopes = ["webhooks:replay", "webhooks:read"];

/** Partners, events, dead letters and replays, in the order of the navigation. */
export const webhookPages: readonly PageEntry[] = [
  {
    path: "/partners",
    scopes,
    label: "Partners",
    load: async () => (await import("./partners-page.tsx")).PartnersPage,
  },
  {
    path: "/partners/:namespace/:name",
    scopes,
    below: "/partners",
    load: async () => (await import("./partner-page.tsx")).PartnerPage,
  },
  { path: "/events", scopes, label: "Events", load: async () => (await import("./events-page.tsx")).EventsPage },
  { path: "/events/:id", scopes, below: "/events", load: async () => (await import("./event-page.tsx")).EventPage },
  {
    path: "/dead-letters",
    scopes,
    label: "Dead letters",
    load: async () => (await import("./dead-letters-page.tsx")).DeadLettersPage,
  },
  {
    path: "/replays",
    scopes: replayScopes,
    label: "Replays",
    load: async () => (await import("./replays-page.tsx")).ReplaysPage,
  },
  {
    path: "/replays/:id",
    scopes: replayScopes,
    below: "/replays",
    load: async () => (await import("./replay-page.tsx")).ReplayPage,
  },
];
