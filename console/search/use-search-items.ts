import type { CatalogEntry } from "../../api/catalog.ts";
import type { Me } from "../../api/documents.ts";
import type { EventTypeSummary } from "../../api/events.ts";
import type { ReplaySummary } from "../../api/replays.ts";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import type { ApiClient } from "../api/client.ts";
import { findPartners } from "../api/read-partners.ts";
import { mayUse, useSession } from "../api/session-context.ts";
import type { ListPage } from "../api/types.ts";
import { pages } from "../pages.ts";
import { healthKind } from "../partners/health-kind.ts";
import { pathTo } from "../router/place.ts";
import { partnerPath } from "../webhooks/links.tsx";
import {
  canBeId,
  eventItem,
  eventTypeItem,
  metricItem,
  replayItem,
  searchItems,
  type SearchItem,
} from "./search-items.ts";

const debounceMs = 150;
const replaysMax = 50;
const partnersMax = 12;
const typesMax = 12;

/** What a search found. */
export interface SearchState {
  readonly items: readonly SearchItem[];
  /** True while an id is looked up. */
  readonly isSearching: boolean;
}

interface Found {
  readonly text: string;
  readonly items: readonly SearchItem[];
}

/** Items that match a text. An event or a replay with exactly this id comes first. Nothing is read until `isOpen`. */
export function useSearchItems(text: string, isOpen: boolean): SearchState {
  const known = useKnownItems(isOpen);
  const { me } = useSession();
  const mayRead = mayUse(me, ["webhooks:read"]);
  const mayReadReplays = mayRead && mayUse(me, ["webhooks:replay"]);
  const isId = mayRead && canBeId(text);
  const isName = mayRead && text.length >= 2;
  const readIds = useCallback(
    async (api: ApiClient, id: string, signal: AbortSignal): Promise<readonly SearchItem[]> => {
      const event = find(api, eventItem(id), `/webhooks${pathTo("events", id)}`, signal);
      const replay = mayReadReplays ? find(api, replayItem(id), `/webhooks${pathTo("replay", id)}`, signal) : [];
      return (await Promise.all([event, replay])).flat();
    },
    [mayReadReplays],
  );
  const exact = useFound(text, isId, readIds);
  const partners = useFound(text, isName, partnerItems);
  const types = useFound(text, isName, typeItems);
  return useMemo(() => {
    const first = exact.text === text ? exact.items : [];
    const others = searchItems([...known, ...partners.items, ...types.items], text);
    const isSearching =
      (isId && exact.text !== text) || (isName && [partners, types].some((found) => found.text !== text));
    return { items: [...first, ...others.filter(({ to }) => !first.some((item) => item.to === to))], isSearching };
  }, [known, exact, partners, types, text, isId, isName]);
}

const nothing: Found = { text: "", items: [] };

type ReadItems = (api: ApiClient, text: string, signal: AbortSignal) => Promise<readonly SearchItem[]>;

/** What the server finds for the text that was last typed. A failure finds nothing: the pages report why. */
function useFound(text: string, isWanted: boolean, read: ReadItems): Found {
  const { api } = useSession();
  const [found, setFound] = useState(nothing);
  useEffect(() => {
    if (!isWanted) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      void read(api, text, abort.signal)
        .catch(() => [])
        .then((items) => {
          if (!abort.signal.aborted) setFound({ text, items });
        });
    }, debounceMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [api, text, isWanted, read]);
  return found;
}

/** The item if the server has it. Any failure means that the search does not find it. */
async function find(
  api: ApiClient,
  item: SearchItem,
  path: string,
  signal: AbortSignal,
): Promise<readonly SearchItem[]> {
  return api.read(path, signal).then(
    () => [item],
    () => [],
  );
}

/** Pages, metrics, objectives and the newest replays, as they arrive, if the token may read them. */
function useKnownItems(isOpen: boolean): readonly SearchItem[] {
  const { api, me } = useSession();
  const [sources, setSources] = useState<Readonly<Record<string, readonly SearchItem[]>>>({});
  useEffect(() => {
    if (!isOpen) return undefined;
    const abort = new AbortController();
    for (const { name, scopes, read } of readers) {
      if (!mayUse(me, scopes)) continue;
      // A source that cannot be read is left out: its page reports why.
      read(api, abort.signal).then(
        (items) => abort.signal.aborted || setSources((before) => ({ ...before, [name]: items })),
        () => undefined,
      );
    }
    return () => abort.abort();
  }, [api, me, isOpen]);
  return useMemo(() => [...pageItems(me), ...Object.values(sources).flat()], [me, sources]);
}

const readers = [
  { name: "metrics", scopes: ["metrics:read", "metrics:read.public"], read: metricItems },
  { name: "replays", scopes: ["webhooks:replay"], read: replayItems },
] as const;

function pageItems(me: Me | undefined): readonly SearchItem[] {
  return pages.flatMap(({ label, path, scopes }) =>
    label === undefined || !mayUse(me, scopes) ? [] : [{ kind: "Page", name: label, to: path } as const],
  );
}

async function partnerItems(api: ApiClient, text: string, signal: AbortSignal): Promise<readonly SearchItem[]> {
  const found = await findPartners(api, text, partnersMax, signal);
  return found.map((partner) => ({
    kind: "Partner",
    name: partner.partner,
    detail: healthKind(partner),
    to: partnerPath(partner.partner),
  }));
}

async function typeItems(api: ApiClient, text: string, signal: AbortSignal): Promise<readonly SearchItem[]> {
  const query = new URLSearchParams({ search: text, limit: String(typesMax) }).toString();
  const { body } = await api.read<ListPage<EventTypeSummary>>(`/webhooks/types?${query}`, signal);
  return body.data.map(({ type }) => eventTypeItem(type));
}

async function metricItems(api: ApiClient, signal: AbortSignal): Promise<readonly SearchItem[]> {
  const { body } = await api.read<{ readonly data: readonly CatalogEntry[] }>("/v1/metrics/catalog", signal);
  const metrics = body.data.map(({ metric_id: id, category }) => metricItem(id, category));
  const objectives = body.data.flatMap(({ metric_id: metric, slo }) =>
    slo.map(({ name }) => ({ kind: "Objective", name, detail: metric, to: pathTo("slos", name) }) as const),
  );
  return [...metrics, ...objectives];
}

async function replayItems(api: ApiClient, signal: AbortSignal): Promise<readonly SearchItem[]> {
  const { body } = await api.read<ListPage<ReplaySummary>>(`/webhooks/replay?limit=${replaysMax}`, signal);
  return body.data.map(({ replay_id: id, status }) => replayItem(id, status));
}
