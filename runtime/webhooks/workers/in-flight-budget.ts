/** Messages in work in one pod, shared by partners so that none of them can take all. */
export interface InFlightBudget {
  /**
   * Messages that one who asks may have under way besides those in work: a quarter of what is free. However many
   * partners hang, some part stays free; whoever comes new gets at least one.
   */
  share(): number;
  enter(): void;
  leave(): void;
  readonly held: number;
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
    get held() {
      return held;
    },
  };
}
