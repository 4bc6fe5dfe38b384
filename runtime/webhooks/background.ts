import type { StreamSettings } from "../config/settings.ts";
import type { Homes } from "./homes.ts";
import { keepAliveMs } from "./in-flight.ts";
import type { Lanes } from "./lanes.ts";
import { keepRoom } from "./room.ts";
import type { Router, RouterDeps } from "./router.ts";

/** What runs beside routing and delivering. */
export interface BackgroundParts {
  readonly context: RouterDeps;
  readonly router: Router;
  readonly lanes: Lanes;
  readonly homes: Homes;
  readonly streams: StreamSettings;
}

const backlogMs = 1_000;
/** Routing resumes when this part of the room for deliveries is free again. */
const resumeShare = 0.95;
const roomMs = 2_000;
/** One pod makes room: the home of this name, which is no partner's token. */
const roomLane = "room";

/** Starts what runs in turns; the answer ends it. */
export function startBackground(parts: BackgroundParts): () => void {
  const { context, router, lanes, homes, streams } = parts;
  const keepAlive = setInterval(() => {
    router.keepAlive();
    lanes.keepAlive();
  }, keepAliveMs);
  const stops = [
    inTurns(backlogMs, backlogLook(context, router, streams.deliveries.maxBytes)),
    inTurns(roomMs, async () => {
      if (homes.isHome(roomLane)) {
        await keepRoom(context.events, streams.events.maxBytes, context.log);
      }
    }),
  ];
  return () => {
    clearInterval(keepAlive);
    stops.forEach((stop) => stop());
  };
}

/** Holds routing while too much waits for delivery; events then fill their own stream, and producers are told so. */
function backlogLook({ deliveries, log }: RouterDeps, router: Router, bytesMax: number): () => Promise<void> {
  let isHeld = false;
  return async () => {
    const bytes = await deliveries.sizeBytes();
    const isTooMuch = bytes > (isHeld ? bytesMax * resumeShare : bytesMax);
    if (isTooMuch !== isHeld) {
      isHeld = isTooMuch;
      log.warn({ bytes, bytesMax }, isHeld ? "too much waits for delivery, routing is held" : "routing goes on");
      router.hold(isHeld);
    }
  };
}

function inTurns(periodMs: number, look: () => Promise<void>): () => void {
  let isOver = false;
  let timer: NodeJS.Timeout;
  const goOn = (): void => {
    timer = setTimeout(() => {
      // Without an answer nothing changes; the next look comes soon.
      look()
        .catch(() => undefined)
        .finally(() => !isOver && goOn());
    }, periodMs);
    timer.unref();
  };
  goOn();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
