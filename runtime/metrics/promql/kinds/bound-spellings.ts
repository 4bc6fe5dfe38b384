/**
 * Builds a regular expression of the texts that usual client libraries write for a bucket's bound in `le`: `300`,
 * `300.0`, `1.44e+07` (Go, and Prometheus 3 when it scrapes), `1.44E7` (Java).
 */
export function boundPattern(bound: number): string {
  const plain = String(bound);
  const [mantissa = "", exponent = "0"] = bound.toExponential().split("e");
  const power = Number(exponent);
  const spellings = new Set([
    plain,
    ...(Number.isInteger(bound) ? [`${plain}.0`] : []),
    `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`,
    `${mantissa.includes(".") ? mantissa : `${mantissa}.0`}E${power}`,
  ]);
  return [...spellings].map((text) => text.replaceAll(/[.+]/gu, String.raw`\$&`)).join("|");
}
