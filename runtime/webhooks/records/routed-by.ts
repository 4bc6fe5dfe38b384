/** The configuration by which a pod routed an event. Later versions may add members, such as an event catalog. */
export interface RoutedBy {
  /** First digits of the configuration's hash, as `/configz` and the log line `configuration` report it. */
  readonly configuration: string;
  /** `metadata.generation` of the partner in that configuration; absent when no partner gets the event. */
  readonly generation?: number;
}

/** 64 bits, because a header of every stored delivery carries them. */
const digitsMax = 16;

const form = /^c=(?<configuration>[0-9a-f]{1,64})(?:;g=(?<generation>\d{1,15}))?(?:;|$)/u;

/**
 * The stored form: `c=CONFIGURATION;g=GENERATION`. Pods copy it from step to step as text, so that the members of a
 * later version survive a rollout. @param hash lowercase hex
 */
export function routedByText(hash: string, generation?: number): string {
  const configuration = `c=${hash.slice(0, digitsMax)}`;
  return generation === undefined ? configuration : `${configuration};g=${generation}`;
}

/** Parses the stored form and ignores later members; undefined for any other text. */
export function parseRoutedBy(text: string | undefined): RoutedBy | undefined {
  const { configuration, generation } = form.exec(text ?? "")?.groups ?? {};
  if (configuration === undefined) return undefined;
  return generation === undefined ? { configuration } : { configuration, generation: Number(generation) };
}
