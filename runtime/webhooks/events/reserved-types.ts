/** First segment of the types of operational events, which this program creates. Producers must not use it. */
export const ownDomain = "heliograph";
/** Prefix of the ids of operational events. Producers must not use it, because ids are unique in the installation. */
export const ownIdPrefix = `${ownDomain}:`;

/** True when a type is reserved for operational events. */
export function isOwnType(type: string): boolean {
  return type.startsWith(`${ownDomain}.`);
}
