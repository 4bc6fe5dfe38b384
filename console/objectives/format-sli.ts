const shares = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 3 });

/** A share of events as percent with up to three decimals, since objectives differ in them; a dash for none. */
export function formatSli(share: number | null | undefined): string {
  return share === null || share === undefined || Number.isNaN(share) ? "–" : shares.format(share);
}
