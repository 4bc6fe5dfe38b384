import { request } from "undici";

/** What is read of `GET /webhooks/events/:id`. */
export interface History {
  readonly routed_at?: string | null;
  readonly routed_by?: RoutedBy | null;
  readonly deliveries: readonly HistoryEntry[];
}

interface RoutedBy {
  readonly configuration: string;
}

interface HistoryEntry {
  readonly partner: string;
  readonly routed_by?: RoutedBy | null;
  readonly attempts?: readonly { readonly attempt: number; readonly at: string }[];
  readonly state: string;
  readonly reason: string | null;
  readonly next_attempt_at: string | null;
}

/** The configurations that routed an event, as its history reports them. */
export function configurationsOf({ routed_by: none, deliveries }: History): readonly string[] {
  const reported = [none, ...deliveries.map(({ routed_by: by }) => by)];
  return [...new Set(reported.flatMap((by) => by?.configuration ?? []))];
}

const requestMsMax = 5_000;
const atOnce = 8;

/** Histories of these events by id, each parsed from its response. An event without one is absent. */
export async function readHistories(
  urls: readonly string[],
  token: string,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, History>> {
  const found = new Map<string, History>();
  const left = [...eventIds];
  const work = async (worker: number): Promise<void> => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const headers = { authorization: `Bearer ${token}` };
      const url = `${urls[worker % urls.length] ?? ""}/webhooks/events/${id}`;
      const { statusCode, body } = await request(url, { headers, signal: AbortSignal.timeout(requestMsMax) });
      const text = await body.text();
      if (statusCode === 200) found.set(id, JSON.parse(text) as History);
      else if (statusCode !== 404) throw new Error(`${url} responded with ${statusCode} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, worker) => work(worker)));
  return found;
}
