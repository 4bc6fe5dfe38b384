import type { RuntimeConfig } from "../../../crds/config.ts";
import type { StreamSettings } from "./settings.ts";

/**
 * Warnings for each stream with too short a retention. An event and its attempts must outlive the longest delivery and
 * its dead letter, or a redrive would not find them.
 */
export function retentionFaults(streams: StreamSettings, { partners }: RuntimeConfig): readonly string[] {
  const oldest = partners.toSorted((one, other) => other.retry.maxAgeSeconds - one.retry.maxAgeSeconds)[0];
  if (oldest === undefined) return [];
  const neededSeconds = oldest.retry.maxAgeSeconds + streams.deadLetters.maxAgeSeconds;
  return (["events", "attempts"] as const)
    .filter((stream) => streams[stream].maxAgeSeconds < neededSeconds)
    .map(
      (stream) =>
        `streams.${stream}.maxAgeSeconds is ${streams[stream].maxAgeSeconds}, but deliveries to partner ` +
        `${oldest.namespace}/${oldest.name} and their dead letters may live ${neededSeconds} s`,
    );
}
