import { isShadowed, type Piece } from "./pieces.ts";

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
  // Insertion order is the order of use.
  const kept = new Map<string, readonly KeptPiece[]>();
  let total = 0;
  const drop = (key: string): readonly KeptPiece[] => {
    const pieces = kept.get(key) ?? [];
    kept.delete(key);
    total -= weight(pieces);
    return pieces;
  };
  const put = (key: string, pieces: readonly KeptPiece[]): void => {
    kept.set(key, pieces);
    total += weight(pieces);
  };
  return {
    pieces<Series>(key: string) {
      const pieces = kept.get(key);
      if (pieces === undefined) return [];
      kept.delete(key);
      kept.set(key, pieces);
      // A key names its kind of series.
      return pieces.map(({ piece }) => piece as Piece<Series>);
    },
    keep(key, piece, bytes) {
      if (bytes + entryBytes > bytesMax) return;
      const others = drop(key).filter((other) => !isShadowed(other.piece, piece));
      put(key, [...others, { piece, bytes }].slice(-piecesMax));
      for (const oldest of kept.keys()) {
        if (total <= bytesMax) return;
        drop(oldest);
      }
    },
    bytes: () => total,
  };
}

function weight(pieces: readonly KeptPiece[]): number {
  return pieces.length === 0 ? 0 : pieces.reduce((sum, { bytes }) => sum + bytes, entryBytes);
}
