interface Due {
  readonly key: string;
  readonly dueMs: number;
}

/** A min-heap of keys by due time. A key may occur more than once. */
export class DueHeap {
  readonly #items: Due[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** The earliest entry, without removing it. */
  peek(): Due | undefined {
    return this.#items[0];
  }

  push(item: Due): void {
    this.#items.push(item);
    this.#rise(this.#items.length - 1);
  }

  /** Removes the earliest entry. */
  pop(): Due | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) {
      this.#items[0] = last;
      this.#sink(0);
    }
    return first;
  }

  #rise(from: number): void {
    let child = from;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (this.#dueAt(parent) <= this.#dueAt(child)) return;
      this.#swap(parent, child);
      child = parent;
    }
  }

  #sink(from: number): void {
    let parent = from;
    for (;;) {
      const left = 2 * parent + 1;
      const child = this.#dueAt(left + 1) < this.#dueAt(left) ? left + 1 : left;
      if (this.#dueAt(parent) <= this.#dueAt(child)) return;
      this.#swap(parent, child);
      parent = child;
    }
  }

  /** An index beyond the end is never due. */
  #dueAt(index: number): number {
    return this.#items[index]?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#items[a], this.#items[b]];
    if (first === undefined || second === undefined) return;
    this.#items[a] = second;
    this.#items[b] = first;
  }
}
