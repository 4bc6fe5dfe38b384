/**
 * Takes the token out of an address such as `/console/#token=…` and erases it there at once, before anything else can
 * read, store or share the address. Undefined without one.
 */
export function takeFragmentToken(place: Location, past: History): string | undefined {
  const token = new URLSearchParams(place.hash.slice(1)).get("token");
  if (token === null) return undefined;
  past.replaceState(null, "", place.pathname + place.search);
  return token === "" ? undefined : token;
}
