import { metadataRows, specialRows, type SpecialRow } from "../../../crds/special-networks.ts";
import { parseBlock, type AddressBlock } from "./address.ts";

/** A block in which no public endpoint of a partner can be. */
interface SpecialBlock extends AddressBlock {
  /** The block, for people. */
  readonly text: string;
  readonly name: string;
}

/** Blocks that only an allow-list opens; the first block with an address gives it its name. */
export const specialBlocks: readonly SpecialBlock[] = specialRows.flatMap(toBlock);

/** Blocks that no allow-list opens. */
export const metadataBlocks: readonly SpecialBlock[] = metadataRows.flatMap(toBlock);

function toBlock([text, name]: SpecialRow): readonly SpecialBlock[] {
  const block = parseBlock(text);
  return block === undefined ? [] : [{ ...block, text, name }];
}
