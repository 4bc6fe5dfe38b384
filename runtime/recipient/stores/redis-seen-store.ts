import {
  parseSeenRecord,
  readSeenStoreOptions,
  seenRecordText,
  type OnceResult,
  type SeenStore,
  type SeenStoreOptions,
} from "../seen-store.ts";
import { onceByClaim, readLeaseSeconds, type Claim, type ClaimOptions } from "./claim.ts";

export interface RedisSeenStoreOptions extends SeenStoreOptions, ClaimOptions {
  /** Sends one command, for example `(command) => client.sendCommand(command)` of the package `redis`. */
  readonly send: (command: string[]) => Promise<unknown>;
}

/**
 * Stores seen events in Redis, one key each. The mark is not atomic with the effect. A process that ends between both
 * leaves a claim, and the effect runs again after `leaseSeconds`: it must tolerate that. Redis must not evict keys
 * (`maxmemory-policy noeviction`), and a failover to a replica can lose the newest marks.
 * @throws RangeError when the time is shorter than a day, or the lease is not between a second and an hour
 */
export function createRedisSeenStore({ send, leaseSeconds, ...common }: RedisSeenStoreOptions): SeenStore<Claim> {
  const { keyOf, ttlSeconds } = readSeenStoreOptions(common);
  const leaseMs = readLeaseSeconds(leaseSeconds === undefined ? {} : { leaseSeconds }) * 1_000;
  const ttlMs = ttlSeconds * 1_000;
  const run = (script: string, key: string, ...values: (string | number)[]): Promise<unknown> =>
    send(["EVAL", script, "1", key, ...values.map(String)]);
  return {
    find: async (eventId) => {
      const text = await send(["GET", keyOf(eventId)]);
      return typeof text === "string" ? parseSeenRecord(text) : undefined;
    },
    once: (eventId, handlerVersion, effect) => {
      const key = keyOf(eventId);
      return onceByClaim(key, handlerVersion, effect, {
        claim: () => run(claimScript, key, leaseMs, ttlMs).then(claimOf, rejectionOf),
        settle: async ({ fencingToken }, record) =>
          Number(await run(settleScript, key, fencingToken, seenRecordText(record), ttlMs)) === 1,
      });
    },
  };
}

/**
 * Claims an event: returns the number of the claim, or why there is none. The clock is that of Redis. The key outlives
 * the lease, so that numbers grow also after a claim that expired.
 */
const claimScript = `
local kept = redis.call('GET', KEYS[1])
local record = kept and cjson.decode(kept) or {}
if record.status == 'ok' then return 'seen' end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if record.status == nil and (record.claimed_until_ms or 0) > now then return 'busy' end
local claim = (record.claim or 0) + 1
local text = string.format('{"claim":%d,"claimed_until_ms":%d}', claim, now + ARGV[1])
redis.call('SET', KEYS[1], text, 'PX', ARGV[2])
return claim`;

/** Replaces the claim with this number by a record, and keeps the number in it for the next claim. */
const settleScript = `
local kept = redis.call('GET', KEYS[1])
local held = kept and cjson.decode(kept) or {}
if held.status ~= nil or held.claim ~= tonumber(ARGV[1]) then return 0 end
local text = string.gsub(ARGV[2], '^{', string.format('{"claim":%d,', held.claim))
redis.call('SET', KEYS[1], text, 'PX', ARGV[3])
return 1`;

type StoreRejection = Exclude<OnceResult, "processed">;

function claimOf(reply: unknown): Claim | StoreRejection {
  const word = String(reply);
  return word === "seen" || word === "busy" ? word : { fencingToken: Number(reply) };
}

/** Redis rejects writes when its memory is full and no key may be evicted. */
function rejectionOf(error: unknown): StoreRejection {
  if (error instanceof Error && error.message.startsWith("OOM ")) return "full";
  throw error;
}
