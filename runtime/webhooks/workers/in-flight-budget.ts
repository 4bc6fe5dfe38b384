/** Limits the messages in work in one pod. No single partner can use the whole budget. */
export interface InFlightBudget {
  /**
   * Messages that one queue may request besides those in work: a quarter of the free budget, at least one. So part of
   * the budget stays free while partners do not respond.
   */
  share(): number;
  enter(): void;
  leave(): void;
}

const shareDivisor = 4;

/** @param size messages in work at once; each partner may exceed it by one */
export function createInFlightBudget(size: number): InFlightBudget {
  let held = 0;
  return {
    share: () => Math.max(1, Math.floor((size - held) / shareDivisor)),
    enter: () => {
      held += 1;
    },
    leave: () => {
      held -= 1;
    },
  };
}
