import { hash } from "node:crypto";
import { StoreError } from "../../stores/store-error.ts";
import type { Pods } from "../../pods/pods.ts";
import { createFillLeases } from "./fill-leases.ts";
import { encodeExtents, decodeExtents } from "./extent-encoding.ts";
import type { CachedExtent } from "./extents.ts";
import type { SeriesKind } from "./series-kind.ts";

/** Bytes that all pods share. The oldest ones are removed first. No method rejects. */
export interface SharedBytes {
  get(name: string): Promise<Uint8Array | undefined>;
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** `failing`: new bytes cannot be stored. */
  state(): SharedBytesState;
}

export type SharedBytesState = "ok" | "failing";

/** Recent extents that all pods share. */
export interface SharedExtents {
  /** Tests if extents of stores with this residency may be shared. */
  mayHold(residency: string): boolean;
  /** The extents of a query; none when they cannot be read. */
  find<Series>(kind: SeriesKind<Series>, key: string): Promise<readonly CachedExtent<Series>[]>;
  /**
   * Reads missing points in one pod at a time, under a fill lease.
   *
   * @param name equal for equal reads
   * @param work the read, which returns the extents to share too
   * @throws StoreError the failure of the read, in this pod or another
   */
  once<Result, Series>(name: string, work: () => Promise<Done<Result, Series>>): Promise<Result>;
}

/** The result of a read, and the extents to share. */
export interface Done<Result, Series> {
  readonly result: Result;
  /** Undefined without an extent to share. */
  readonly share:
    | { readonly kind: SeriesKind<Series>; readonly key: string; readonly extents: readonly CachedExtent<Series>[] }
    | undefined;
}

interface SharedExtentsOptions {
  /** Residency of the bytes: stores of other residencies share nothing. @default any store may share */
  readonly residency?: string | undefined;
  /** Called when extents cannot be encoded or stored. @default ignored */
  readonly failed?: (error: unknown) => void;
}

/** Creates shared extents that are encoded as shared bytes. */
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
        // The caller does not wait until the extents are stored.
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

/** A digest, since a key can hold characters that subjects cannot. */
function digestOf(key: string): string {
  return hash("sha256", key, "base64url");
}
