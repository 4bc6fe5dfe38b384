/** Share of a soak's runs that every test run does. */
const everydayShare = 5;

/** Whether this is a soak (`make soak`): all runs of the random tests instead of a share. */
export const isSoak = process.env["HELIOGRAPH_SOAK"] === "1";

/** How many runs a random test does now; `all` in a soak. */
export function runsOf(all: number): number {
  return isSoak ? all : Math.ceil(all / everydayShare);
}
