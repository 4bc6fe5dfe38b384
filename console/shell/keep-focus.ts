/** Places that had the focus, the newest last. */
const placesMax = 16;

/**
 * Keeps the place of the keyboard. A part that leaves or is disabled with the focus gives it to the element of its
 * surroundings that had it last, or to these surroundings: a person who presses "Clear filters" or "Try again"
 * continues there instead of from the top of the page.
 *
 * @returns ends it
 */
export function keepFocus(root: HTMLElement): () => void {
  let places: readonly HTMLElement[] = [];
  /** The element with the focus and what surrounds it, the nearest first. */
  let chain: readonly HTMLElement[] = [];
  const onFocus = ({ target }: FocusEvent): void => {
    if (!(target instanceof HTMLElement)) return;
    chain = chainOf(target, root);
    places = [...places.filter((place) => place !== target && place.isConnected), target].slice(-placesMax);
  };
  // Who clicks beside everything has left the place.
  const onPointer = (): void => void (chain = []);
  let disabled: HTMLElement | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const check = (): void => {
    timer = undefined;
    const [last] = chain;
    if (last === undefined || document.activeElement !== document.body) return;
    if (last.isConnected && isDisabled(last)) disabled = last;
    // Who left the page by Tab is not brought back.
    else if (!last.isConnected || disabled === last) moveTo(last.isConnected ? last : nextPlace(chain, places));
  };
  // Nothing has the focus while it moves from one element to the next, which may change the page.
  const changes = new MutationObserver(() => {
    timer ??= setTimeout(check);
  });
  changes.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
  root.addEventListener("focusin", onFocus);
  root.addEventListener("pointerdown", onPointer);
  return () => {
    changes.disconnect();
    clearTimeout(timer);
    root.removeEventListener("focusin", onFocus);
    root.removeEventListener("pointerdown", onPointer);
  };
}

function moveTo(place: HTMLElement | undefined): void {
  if (place === undefined) return;
  if (place.tabIndex < 0) place.tabIndex = -1;
  place.focus({ preventScroll: true });
  // The part that left may have been far from it, such as a panel above a long list.
  if (isOutside(place)) place.scrollIntoView({ block: "center" });
}

function isOutside(place: HTMLElement): boolean {
  const { top, bottom } = place.getBoundingClientRect();
  return bottom < 0 || top > innerHeight;
}

function chainOf(target: HTMLElement, root: HTMLElement): readonly HTMLElement[] {
  const chain: HTMLElement[] = [];
  for (let at: HTMLElement | null = target; at !== null && at !== root; at = at.parentElement) chain.push(at);
  return chain;
}

/** The nearest surroundings that are still there, or what had the focus last in them. */
function nextPlace(chain: readonly HTMLElement[], places: readonly HTMLElement[]): HTMLElement | undefined {
  const around = chain.find((one) => one.isConnected);
  const inside = places.findLast((place) => place !== around && around?.contains(place) && !isDisabled(place));
  return inside ?? around;
}

function isDisabled(element: HTMLElement): boolean {
  return element.matches(":disabled");
}
