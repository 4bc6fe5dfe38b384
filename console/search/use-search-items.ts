import type { CatalogEntry } from "../../api/catalog.ts";
import type { Me } from "../../api/documents.ts";
import type { ReplaySummary } from "../../api/replays.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ApiClient } from "../api/client.ts";
import { readPartners } from "../api/read-partners.ts";
import { mayUse, useSession } from "../api/session-context.ts";
import type { ListPage } from "../api/types.ts";
import { pages } from "../pages.ts";
import { pathTo } from "../router/place.ts";
import { partnerPath } from "../webhooks/links.tsx";
import { canBeId, eventItem, metricItem, replayItem, searchItems, type SearchItem } from "./search-items.ts";

const debounceMs = 150;
const replaysMax = 50;

/** What a search found. */
export interface SearchState {
  readonly items: readonly SearchItem[];
  /** True while an id is looked up. */
  readonly isSearching: boolean;
}

/** Items that match a text. An event or a replay with exactly this id comes first. Nothing is read until `isOpen`. */
export function useSearchItems(text: string, isOpen: boolean): SearchState {
  const known = useKnownItems(isOpen);
  const { api, me } = useSession();
  const [exact, setExact] = useState<{ readonly text: string; readonly items: readonly SearchItem[] }>();
  useEffect(() => {
    if (!canBeId(text) || !mayUse(me, ["webhooks:read"])) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      const lookUps = [
        find(api, eventItem(text), `/webhooks${pathTo("events", text)}`, abort.signal),
        mayUse(me, ["webhooks:replay"])
          ? find(api, replayItem(text), `/webhooks${pathTo("replay", text)}`, abort.signal)
          : Promise.resolve([]),
      ];
      void Promise.all(lookUps).then((found) => {
        if (!abort.signal.aborted) setExact({ text, items: found.flat() });
      });
    }, debounceMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [api, me, text]);
  return useMemo(() => {
    const isKnown = exact?.text === text;
    const first = isKnown ? exact.items : [];
    const others = searchItems(known, text).filter(({ to }) => !first.some((item) => item.to === to));
    return { items: [...first, ...others], isSearching: canBeId(text) && mayUse(me, ["webhooks:read"]) && !isKnown };
  }, [known, exact, text, me]);
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

/** Pages, partners, metrics, objectives and the newest replays, as they arrive, if the token may read them. */
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
  { name: "partners", scopes: ["webhooks:read"], read: partnerItems },
  { name: "metrics", scopes: ["metrics:read", "metrics:read.public"], read: metricItems },
  { name: "replays", scopes: ["webhooks:replay"], read: replayItems },
] as const;

function pageItems(me: Me | undefined): readonly SearchItem[] {
  return pages.flatMap(({ label, path, scopes }) =>
    label === undefined || !mayUse(me, scopes) ? [] : [{ kind: "Page", name: label, to: path } as const],
  );
}

async function partnerItems(api: ApiClient, signal: AbortSignal): Promise<readonly SearchItem[]> {
  const { all } = await readPartners(api, signal);
  return all.map(({ partner, state }) => ({ kind: "Partner", name: partner, detail: state, to: partnerPath(partner) }));
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
