/** A page of a list, which continues at a cursor. */
export interface ListPage<Item, Meta = object> {
  readonly data: readonly Item[];
  readonly meta: Meta & { readonly cursor: string | null };
}
