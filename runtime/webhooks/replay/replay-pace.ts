import { BoundedMap, createSingleFlight } from "../../../limits/bounded-map.ts";
import { pause, type Clock } from "../../../limits/clock.ts";
import type { DeliveriesStream, LaneState } from "../../nats/streams/deliveries-stream.ts";
import type { Partner } from "../partners/partner.ts";

interface ReplayPaceDeps {
  readonly deliveries: Pick<DeliveriesStream, "laneState">;
  readonly clock: Clock;
  readonly ending: AbortSignal;
}

/** Delays the deliveries of replays, so that new events of the same partner go first. */
export interface ReplayPace {
  /** Resolves when one delivery to the partner may be published. @throws the reason of the end of the process */
  turn(partner: Partner): Promise<void>;
}

/** The lane of a partner at the last look. */
interface Lane {
  readonly lookedAtMs: number;
  /** Deliveries that may be published before the next look. */
  permits: number;
  /** Messages that the consumer had handed out when permits were last given. */
  readonly handedOut: number;
}

/** Share of the places that replays fill while the partner has no other deliveries. */
const placesShare = 0.5;
/** While other deliveries fill that share, one delivery of a replay follows nine others: 10 % of the places. */
const othersForEach = 9;
const lookMs = 20;
/** A delivery waits no longer, for example when its partner is slow. */
export const paceMsMax = 500;
const lanesMax = 4_096;

/**
 * Creates the pace of the replays of a pod. Messages of a lane are handed out in the order of their arrival. So a
 * replay stores only a few at once: new events then find free places and wait behind few others.
 */
export function createReplayPace({ deliveries, clock, ending }: ReplayPaceDeps): ReplayPace {
  const lanes = new BoundedMap<string, Lane>(lanesMax);
  const once = createSingleFlight<Lane>();
  const look = async ({ lane: name, config }: Partner): Promise<Lane> => {
    const state = await deliveries.laneState("first", name);
    const next = laneAfter(lanes.get(name), state, config.delivery.maxInFlight, clock.nowMs());
    lanes.set(name, next);
    return next;
  };
  return {
    turn: async (partner) => {
      const { lane: name, config } = partner;
      const endsAtMs = clock.nowMs() + paceMsMax;
      // Nothing is delivered to another partner, so nothing waits behind its replays.
      while (config.state === "Active" && config.held === undefined && clock.nowMs() < endsAtMs) {
        const known = lanes.use(name);
        const isRecent = known !== undefined && (known.permits > 0 || clock.nowMs() < known.lookedAtMs + lookMs);
        const lane = isRecent ? known : await once(name, () => look(partner));
        if (lane.permits > 0) {
          lane.permits -= 1;
          return;
        }
        await pause(clock, lookMs, ending);
      }
    },
  };
}

function laneAfter(before: Lane | undefined, state: LaneState | undefined, maxInFlight: number, nowMs: number): Lane {
  if (state === undefined) return { lookedAtMs: nowMs, permits: 1, handedOut: 0 };
  const places = Math.max(1, Math.floor(maxInFlight * placesShare));
  // The count of a consumer that was created again is smaller.
  const since = Math.min(before?.handedOut ?? state.handedOut, state.handedOut);
  const permits = Math.max(0, places - state.messages, Math.floor((state.handedOut - since) / othersForEach));
  return { lookedAtMs: nowMs, permits, handedOut: permits > 0 ? state.handedOut : since };
}
