/** The oldest nats-server that fires scheduled messages as deliveries need it. */
export const serverVersionMin = "2.14";

/** True for a version like `2.15.2` that is at least {@link serverVersionMin}. */
export function isVersionEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorMin = 0, minorMin = 0] = serverVersionMin.split(".").map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin);
}
