import { hash } from "node:crypto";
import { StoreError } from "../../stores/store-error.ts";
import type { Pods } from "../../pods/pods.ts";
import { createFillLeases } from "./fill-leases.ts";
import { encodeExtents, decodeExtents } from "./extent-encoding.ts";
import type { CachedExtent } from "./extents.ts";
import type { SeriesKind } from "./series-kind.ts";

/** Bytes that all pods see, as long as nobody needs their room. Never rejects. */
export interface SharedBytes {
  get(name: string): Promise<Uint8Array | undefined>;
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** `failing`: what is put now cannot be kept. */
  state(): SharedBytesState;
}

export type SharedBytesState = "ok" | "failing";

/** What other pods read of late, and who reads what is missing. */
export interface SharedExtents {
  /** Whether what a store of this residency answers may be shared. */
  mayHold(residency: string): boolean;
  /** Extents of a query; empty when nothing is known, or nobody can be heard. */
  find<Series>(kind: SeriesKind<Series>, key: string): Promise<readonly CachedExtent<Series>[]>;
  /**
   * Does work in one pod at a time.
   *
   * @param name equal for equal work
   * @param work what it takes, and what others are to find of it, under its key
   * @throws StoreError what the work failed with, here or in another pod
   */
  once<Result, Series>(name: string, work: () => Promise<Done<Result, Series>>): Promise<Result>;
}

/** The outcome of work, and what is to be shared of it. */
export interface Done<Result, Series> {
  readonly result: Result;
  /** Undefined: nothing. */
  readonly share:
    | { readonly kind: SeriesKind<Series>; readonly key: string; readonly extents: readonly CachedExtent<Series>[] }
    | undefined;
}

interface SharedExtentsOptions {
  /** Where the bytes are kept. @default wherever stores are */
  readonly residency?: string | undefined;
  /** Told why something could not be shared. @default nobody */
  readonly failed?: (error: unknown) => void;
}

/** Extents in bytes that all pods see. */
export function createSharedExtents(
  bytes: SharedBytes,
  pods: Pods,
  { residency, failed = () => undefined }: SharedExtentsOptions = {},
): SharedExtents {
  const leases = createFillLeases(pods);
  return {
    mayHold: (own) => residency === undefined || own === residency,
    async find(kind, key) {
      const found = await bytes.get(digestOf(key));
      return found === undefined ? [] : decodeExtents(kind, key, found);
    },
    async once(name, work) {
      const lease = await leases.take(digestOf(name));
      const end = lease.state === "own" ? lease.end : () => undefined;
      try {
        const { result, share } = await work();
        const { kind, key, extents = [] } = share ?? {};
        // Nobody here waits for the others to see it.
        if (kind === undefined || key === undefined || extents.length === 0) end();
        else
          void encodeExtents(kind, key, extents)
            .then((packed) => bytes.put(digestOf(key), packed))
            .catch(failed)
            .finally(end);
        return result;
      } catch (error) {
        end(error instanceof StoreError ? error : undefined);
        throw error;
      }
    },
  };
}

/** A word that subjects can hold, whatever is in the key. */
function digestOf(key: string): string {
  return hash("sha256", key, "base64url");
}
