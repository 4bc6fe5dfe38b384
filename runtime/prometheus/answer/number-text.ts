/**
 * The text of a number as Prometheus writes it: Go's shortest decimal, with an exponent below 1e-6 and from 1e21. The
 * text of JavaScript differs in the exponent's digits, in infinities and in the sign of zero.
 */
export function numberText(value: number): string {
  if (Number.isFinite(value)) {
    if (Object.is(value, -0)) return "-0";
    const text = String(value);
    return Math.abs(value) >= 1e-6 || value === 0 ? text : text.replace(/e-(\d)$/u, "e-0$1");
  }
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

/** The text of a time as Prometheus writes it: Unix seconds, with three decimals unless it is a whole second. */
export function timeText(ms: number): string {
  return ms % 1_000 === 0 ? String(ms / 1_000) : (ms / 1_000).toFixed(3);
}
