import { BoundedMap } from "../../bounds/bounded-map.ts";
import { isShadowed, type Piece } from "./extents.ts";

/** Pieces of one query: as many as a window that slides makes before the first ones have aged. */
const piecesMax = 32;
/** What an entry takes besides its series. */
const entryBytes = 1_024;

/** What stores answered of late, bounded by bytes; the query unused for longest makes way. */
export interface RangeCache {
  /** Pieces of a query in no order; empty when nothing is known. */
  pieces<Series>(key: string): readonly Piece<Series>[];
  /** Keeps a piece if it is no larger than everything. */
  keep<Series>(key: string, piece: Piece<Series>, bytes: number): void;
  /** Bytes that are kept, as they were told. */
  bytes(): number;
}

interface KeptPiece {
  readonly piece: Piece<unknown>;
  readonly bytes: number;
}

/** An empty cache. */
export function createRangeCache(bytesMax: number): RangeCache {
  const kept = new BoundedMap<string, readonly KeptPiece[]>(bytesMax, weight);
  return {
    pieces<Series>(key: string) {
      // A key names its kind of series.
      return (kept.use(key) ?? []).map(({ piece }) => piece as Piece<Series>);
    },
    keep(key, piece, bytes) {
      if (bytes + entryBytes > bytesMax) return;
      const others = (kept.get(key) ?? []).filter((other) => !isShadowed(other.piece, piece));
      kept.set(key, [...others, { piece, bytes }].slice(-piecesMax));
    },
    bytes: () => kept.weight,
  };
}

function weight(pieces: readonly KeptPiece[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, entryBytes);
}
