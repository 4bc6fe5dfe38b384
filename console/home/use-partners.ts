import type { PartnerDetail, PartnerSummary } from "../../api/partners.ts";
import { useEffect, useState } from "preact/hooks";
import type { ApiClient } from "../api/client.ts";
import { isAbort, problemOfError, type Problem } from "../api/problem.ts";
import { readPartners } from "../api/read-partners.ts";
import { useSession } from "../api/session-context.ts";
import { pathTo } from "../router/place.ts";

/** The partners that the reader sees, and what is known of their deliveries now. */
export interface Partners {
  /** Undefined while they are read. */
  readonly all: readonly PartnerSummary[] | undefined;
  /** False when there are more than were read. */
  readonly isComplete: boolean;
  /** Details of the first active partners, as they arrive. */
  readonly details: readonly PartnerDetail[];
  /** True once the details were read. */
  readonly hasDetails: boolean;
  readonly problem: Problem | undefined;
}

/** Each takes a request, and a question to the pod that delivers. */
const detailsMax = 24;
const detailsAtOnce = 4;

/** Reads all partners in pages, then the live state of some of them. @param turn reads again when it changes */
export function usePartners(turn: number): Partners {
  const { api } = useSession();
  const [partners, setPartners] = useState<Partners>({
    all: undefined,
    isComplete: true,
    details: [],
    hasDetails: false,
    problem: undefined,
  });
  useEffect(() => {
    const abort = new AbortController();
    const read = async (): Promise<void> => {
      const { all, isComplete } = await readPartners(api, abort.signal);
      setPartners((before) => ({ ...before, all, isComplete, problem: undefined }));
      const requested = all.filter(({ state }) => state === "active").slice(0, detailsMax);
      const details = await readDetails(api, requested, abort.signal);
      if (!abort.signal.aborted) setPartners((before) => ({ ...before, details, hasDetails: true }));
    };
    read().catch((error: unknown) => {
      if (abort.signal.aborted || isAbort(error)) return;
      setPartners((before) => ({ ...before, problem: problemOfError(error) }));
    });
    return () => abort.abort();
  }, [api, turn]);
  return partners;
}

/** A detail that cannot be read is left out: the page of the partner says why. */
async function readDetails(
  api: ApiClient,
  partners: readonly PartnerSummary[],
  signal: AbortSignal,
): Promise<readonly PartnerDetail[]> {
  const details: PartnerDetail[] = [];
  const waiting = [...partners];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
      const [namespace = "", name = ""] = next.partner.split("/", 2);
      const path = `/webhooks${pathTo("partners", namespace, name)}`;
      const detail = await api.read<PartnerDetail>(path, signal).catch(() => undefined);
      if (detail?.body.live !== undefined) details.push(detail.body);
      else waiting.length = 0;
    }
  };
  await Promise.all(Array.from({ length: detailsAtOnce }, work));
  return details;
}
