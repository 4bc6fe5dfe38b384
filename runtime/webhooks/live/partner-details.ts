import type { PartnerDetail, PartnerLive } from "../../../api/partners.ts";
import { includesTenant } from "../events/tenants.ts";
import type { PartnerAccess } from "../history/partner-access.ts";
import type { PartnerList } from "../history/partner-list.ts";
import type { Partner } from "../partners/partner.ts";
import { hiddenView, liveViewOf, parseLiveState, type LiveState } from "./live-state.ts";
import { BoundedMap } from "../../../limits/bounded-map.ts";
import { createSingleFlight } from "../../../limits/single-flight.ts";
import type { PodMessages } from "../../nats/messages/pod-messages.ts";
import { ownerOf } from "../../pods/pods.ts";

/** One partner, for callers. */
export interface PartnerDetails {
  /**
   * A partner by `namespace/name`, with the subscriptions to the caller's tenants.
   * @throws Refusal `partner_not_found` for one that the caller may not see too; `events_unavailable`
   */
  read(label: string, caller: PartnerAccess & { readonly tenants: readonly string[] }): Promise<PartnerDetail>;
}

/** The live states of partners, from the pods that own their lanes. */
interface LiveStates {
  /** Resolves within a second, with the last known state when the owner does not answer. Never rejects. */
  of(partner: Pick<Partner, "key" | "lane">): Promise<PartnerLive>;
}

interface LiveStatesDeps {
  /** Requests between pods; undefined: no other pod is requested. */
  readonly peers: Pick<PodMessages, "request" | "serve"> | undefined;
  /** Names of the live pods, including this one. */
  readonly livePods: () => readonly string[];
  readonly own: string;
  /** The state in this pod; undefined when it does not own the lane of the partner with this key. */
  readonly here: (key: string) => LiveState | undefined;
  /** JetStream's clock, Unix milliseconds. */
  readonly now: () => number;
}

const topic = "live";
/** A pod of an older version does not know the topic and is silent. */
const requestMs = 800;
/** Partners whose last known state is kept. */
const lastKnownMax = 4_096;

export function createPartnerDetails(list: Pick<PartnerList, "find">, live: LiveStates): PartnerDetails {
  return {
    read: async (label, caller) => {
      const { partner, summary } = await list.find(label, caller);
      const view = seesAll(partner, caller.tenants) ? await live.of(partner) : hiddenView;
      return { ...summary, ...settingsOf(partner), live: view };
    },
  };
}

/** Whether the caller sees every tenant whose events the partner gets. The figures count the events of all of them. */
function seesAll({ config }: Partner, tenants: readonly string[]): boolean {
  return config.subscriptions.every((one) => one.tenants.every((tenant) => includesTenant(tenants, tenant)));
}

function settingsOf({ config }: Partner): Pick<PartnerDetail, "signing" | "retry" | "delivery"> {
  const { signing, retry, delivery } = config;
  return {
    signing: { scheme: signing.scheme },
    retry: {
      schedule_seconds: retry.scheduleSeconds,
      max_age_seconds: retry.maxAgeSeconds,
      jitter_percent: retry.jitterPercent,
    },
    delivery: {
      max_in_flight: delivery.maxInFlight,
      rate_per_second: delivery.rate?.perSecond ?? null,
      max_backlog: delivery.maxBacklog?.messages ?? null,
    },
  };
}

/** Serves requests of other pods from now on, and sends them. Concurrent requests for a partner are one. */
export function createLiveStates({ peers, livePods, own, here, now }: LiveStatesDeps): LiveStates {
  peers?.serve(topic, (message) => here(keyOf(message)) ?? {});
  const lastKnown = new BoundedMap<string, LiveState>(lastKnownMax);
  const once = createSingleFlight<LiveState | undefined>();
  const request = async (pod: string | undefined, key: string): Promise<LiveState | undefined> => {
    if (pod === undefined || pod === own) return here(key);
    try {
      return parseLiveState(await peers?.request(pod, topic, { key }, requestMs));
    } catch {
      return undefined;
    }
  };
  return {
    of: async ({ key, lane }) => {
      const found = await once(key, () => request(ownerOf(lane, livePods()), key));
      if (found !== undefined) lastKnown.set(key, found);
      return liveViewOf(found ?? lastKnown.use(key), found !== undefined, now());
    },
  };
}

/** Empty for a message of another form, which is no key. */
function keyOf(message: unknown): string {
  const key = typeof message === "object" && message !== null && "key" in message ? message.key : undefined;
  return typeof key === "string" ? key : "";
}
