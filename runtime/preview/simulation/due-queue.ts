interface Entry<T> {
  readonly atMs: number;
  /** Order of arrival, which decides between equal instants. */
  readonly order: number;
  readonly item: T;
}

/** Items by their instants. */
export interface DueQueue<T> {
  push(atMs: number, item: T): void;
  /** The earliest item; of two at the same instant, that which was pushed first. */
  pop(): { readonly atMs: number; readonly item: T } | undefined;
}

/** A binary heap. */
export function createDueQueue<T>(): DueQueue<T> {
  const heap: Entry<T>[] = [];
  let pushed = 0;
  return {
    push: (atMs, item) => {
      pushed += 1;
      rise(heap, { atMs, order: pushed, item });
    },
    pop: () => {
      const first = heap[0];
      const last = heap.pop();
      if (last !== undefined && last !== first) sink(heap, last);
      return first;
    },
  };
}

function rise<T>(heap: Entry<T>[], entry: Entry<T>): void {
  let place = heap.length;
  while (place > 0) {
    const above = (place - 1) >>> 1;
    const parent = heap[above] as Entry<T>;
    if (isBefore(parent, entry)) break;
    heap[place] = parent;
    place = above;
  }
  heap[place] = entry;
}

function sink<T>(heap: Entry<T>[], entry: Entry<T>): void {
  let place = 0;
  for (;;) {
    const [left, right] = [heap[2 * place + 1], heap[2 * place + 2]];
    if (left === undefined) break;
    const isRight = right !== undefined && isBefore(right, left);
    const child = isRight ? right : left;
    if (isBefore(entry, child)) break;
    heap[place] = child;
    place = 2 * place + (isRight ? 2 : 1);
  }
  heap[place] = entry;
}

function isBefore(one: Entry<unknown>, other: Entry<unknown>): boolean {
  return one.atMs === other.atMs ? one.order < other.order : one.atMs < other.atMs;
}
