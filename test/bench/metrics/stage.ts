import type { PrometheusHandle } from "../../support/prometheus.ts";
import { startProgram, type Bench } from "../harness/bench.ts";
import { makeSite, portsOf, type Site, type Subject } from "../harness/program.ts";
import { startRequestLoad, type RequestLoad } from "../load/children.ts";
import type { RequestResult } from "../load/request-process.ts";
import { largeStore, smallStore, startLongStore, type StoreSize } from "./long-store.ts";
import { coldPanels, questionText, requestText, writeMetrics } from "./requests.ts";

/** A store, the program in front of it, and clients; all parts load the same program. */
export interface MetricsStage {
  readonly size: StoreSize;
  readonly store: PrometheusHandle;
  readonly site: Site;
  readonly subject: Subject;
  readonly load: RequestLoad;
  /** One for each connection. */
  readonly tokens: readonly string[];
  /** Questions that were never asked; each is asked once. */
  readonly cold: (readonly [tenant: number, windowEndMs: number])[];
  close(): Promise<void>;
}

const loadProcesses = 2;
const connectionsMax = 50;

/** @throws Error when a server does not start */
export async function openMetrics(bench: Bench): Promise<MetricsStage> {
  const size = bench.isSmall ? smallStore : largeStore;
  const store = await startLongStore(size, bench.progress);
  const site = await makeSite(bench.program);
  await writeMetrics(site, store.url);
  const subject = await startProgram(site, bench.pods);
  const load = await startRequestLoad(loadProcesses);
  const tokens = await Promise.all(Array.from({ length: connectionsMax }, (_, place) => site.token(`bench-${place}`)));
  const cold = [...coldPanels(size.gaugeTenants, size.days)];
  const close = async (): Promise<void> => {
    await load.stop();
    await subject.stop();
    await site.remove();
    await store.stop();
  };
  return { size, store, site, subject, load, tokens, cold, close };
}

/** Takes questions that nobody has asked. @throws Error when too few are left */
export function takeCold({ cold }: MetricsStage, count: number): MetricsStage["cold"] {
  if (cold.length < count) throw new Error("the store holds too few windows for so many rounds: ask for fewer");
  return cold.splice(0, count);
}

/** Who asks, and what. */
export type Asker = Pick<MetricsStage, "subject" | "load" | "tokens">;

/** Asks the program; each client is a list of paths with a token of its own. */
export function ask(
  { subject, load, tokens }: Asker,
  paths: readonly (readonly string[])[],
  seconds: number,
): Promise<RequestResult> {
  const clients = paths.map((own, place) => own.map((path) => requestText(path, tokens[place % tokens.length] ?? "")));
  return load.run({ ports: portsOf(subject), clients, seconds, perSecond: 0 });
}

/** Sends each client's requests to the program once. */
export function askTexts(
  { subject, load }: Pick<MetricsStage, "subject" | "load">,
  clients: readonly (readonly string[])[],
): Promise<RequestResult> {
  return load.run({ ports: portsOf(subject), clients, seconds: 0, perSecond: 0 });
}

/** Asks the store itself the same, or a proxy before it. */
export function askStore(
  { store, load }: MetricsStage,
  forms: readonly (readonly URLSearchParams[])[],
  ports: readonly number[] = portsOf({ urls: [store.url] }),
): Promise<RequestResult> {
  const clients = forms.map((own) => own.map(questionText));
  return load.run({ ports, clients, seconds: 0, perSecond: 0 });
}
