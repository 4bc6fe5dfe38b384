/** First segment of the types of events that this program makes itself; producers may not use it. */
export const ownDomain = "heliograph";
/**
 * First characters of the ids of those events; producers may not use them, since an id is unique in the installation.
 */
export const ownIdPrefix = `${ownDomain}:`;

/** Whether a type is one that this program keeps for itself. */
export function isOwnType(type: string): boolean {
  return type.startsWith(`${ownDomain}.`);
}
