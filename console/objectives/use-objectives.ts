import type { Slo, SloAnswer } from "../../api/objectives.ts";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { choicesOf } from "../api/choices.ts";
import type { ApiClient } from "../api/client.ts";
import { isAbort, problemOfError, type Problem } from "../api/problem.ts";
import { useSession } from "../api/session-context.ts";
import { missingRegions, useRepeat, type ReadState } from "../api/use-read.ts";
import { changedQuery, type QueryChange } from "../router/place.ts";
import { useQueryState } from "../router/router.tsx";

/** Objectives are read for each tenant; more tenants than this need a choice. */
export const tenantsMax = 12;
const everySeconds = 60;

/** The objectives of the tenants that an address or a token names. */
export interface Objectives {
  readonly read: ReadState<readonly Slo[]>;
  /** Tenants that were read; undefined if none is known. */
  readonly tenants: readonly string[] | undefined;
  /** All tenants to choose from; undefined if none is known. */
  readonly choices: readonly string[] | undefined;
}

interface State {
  readonly key: string;
  readonly slos?: readonly Slo[];
  readonly problem?: Problem;
  readonly missing: ReadState<unknown>["missing"];
  readonly atMs?: number;
  readonly isReading: boolean;
}

/**
 * Reads objectives within the tenant, region and environment of the address.
 *
 * @param change more parameters
 * @param isAllowed false: the token may not read any
 */
export function useObjectives(change: QueryChange = {}, isAllowed = true): Objectives {
  const { api, me } = useSession();
  const { get } = useQueryState();
  const choices = isAllowed ? choicesOf(me, "tenant") : undefined;
  const tenants = get("tenant") === "" ? choices?.slice(0, tenantsMax) : [get("tenant")];
  const { region, environment } = { region: get("region"), environment: get("environment") };
  const paths = (tenants ?? []).map(
    (tenant) => `/v1/metrics/slo${changedQuery(new URLSearchParams(), { tenant, region, environment, ...change })}`,
  );
  const key = paths.join(" ");
  const [state, setState] = useState<State>({ key, missing: [], isReading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (key === "") return undefined;
    const abort = new AbortController();
    setState((before) => ({ ...before, isReading: true }));
    void readAll(api, key.split(" "), abort.signal).then((found) => {
      if (!abort.signal.aborted) setState((before) => nextState(before, key, found));
    });
    return () => abort.abort();
  }, [api, key, turn]);
  useRepeat(everySeconds, key !== "" && !state.isReading, () => setTurn((before) => before + 1));
  const refresh = useCallback(() => setTurn((before) => before + 1), []);
  const read = useMemo(() => readOf(state, key, refresh), [state, key, refresh]);
  return { read, tenants, choices };
}

interface Found {
  readonly slos: readonly Slo[];
  readonly missing: ReadState<unknown>["missing"];
  /** The first problem; the objectives of other tenants are there. */
  readonly problem: Problem | undefined;
  readonly isAny: boolean;
}

/** Sequentially, since each tenant takes a request of the quota. */
async function readAll(api: ApiClient, paths: readonly string[], signal: AbortSignal): Promise<Found> {
  const slos: Slo[] = [];
  const missing: ReadState<unknown>["missing"][number][] = [];
  let [problem, isAny]: [Problem | undefined, boolean] = [undefined, false];
  for (const path of paths) {
    try {
      const { body, status } = await api.read<SloAnswer>(path, signal);
      slos.push(...body.data);
      isAny = true;
      if (status === 206) missing.push(...body.data.flatMap(({ regions }) => missingRegions({ meta: { regions } })));
    } catch (error) {
      if (isAbort(error)) break;
      problem ??= problemOfError(error);
    }
  }
  const regions = [...new Map(missing.map((one) => [one.region, one])).values()];
  return { slos, missing: regions, problem, isAny };
}

function nextState(before: State, key: string, { slos, missing, problem, isAny }: Found): State {
  const failed = problem === undefined ? {} : { problem };
  if (!isAny && before.key === key) return { ...before, ...failed, isReading: false };
  return { key, missing, isReading: false, ...failed, ...(isAny ? { slos, atMs: Date.now() } : {}) };
}

function readOf(state: State, key: string, refresh: () => void): ReadState<readonly Slo[]> {
  const isOther = state.key !== key;
  return {
    data: state.slos,
    problem: isOther ? undefined : state.problem,
    isReading: state.isReading || isOther,
    isStale: isOther && state.slos !== undefined,
    atMs: state.atMs,
    headers: undefined,
    missing: state.missing,
    refresh,
  };
}
