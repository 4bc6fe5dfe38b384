import { isAlias, isCollection, isMap, isPair, isScalar } from "yaml";
import type { Alias, Node, Pair, YAMLMap, YAMLSeq } from "yaml";

/** Bounds of one YAML file, so that no input can exhaust the process. */
export interface YamlBounds {
  readonly documentsMax: number;
  /** Values of one document after its aliases are expanded. */
  readonly valuesMax: number;
  readonly depthMax: number;
}

/** @default of {@link YamlBounds} */
export const yamlBounds: YamlBounds = { documentsMax: 4096, valuesMax: 200_000, depthMax: 64 };

/** The fault of a document, and its offset in the text. */
interface YamlFault {
  readonly offset: number;
  readonly message: string;
}

/**
 * Finds the first fault of a parsed document: repeated or structured keys, growing aliases, deep nesting. It takes one
 * linear pass before any expansion. Undefined without a fault.
 */
export function yamlFault(root: Node | null, bounds: YamlBounds): YamlFault | undefined {
  const walk = new Walk(bounds);
  walk.sizeOf(root, 0);
  return walk.fault;
}

class Walk {
  fault: YamlFault | undefined;
  private readonly bounds: YamlBounds;
  private readonly anchorSizes = new Map<string, number>();

  constructor(bounds: YamlBounds) {
    this.bounds = bounds;
  }

  /** Values below and including this node once aliases are expanded; 0 after a fault. */
  sizeOf(node: unknown, depth: number): number {
    if (this.fault !== undefined) return 0;
    if (isPair(node)) return this.sizeOf(node.key, depth) + this.sizeOf(node.value, depth);
    if (isAlias(node)) return this.aliasSize(node);
    const size = isCollection(node) ? this.collectionSize(node, depth) : 1;
    if (isCollection(node) || isScalar(node)) this.remember(node.anchor, size);
    return size;
  }

  private remember(anchor: string | undefined, size: number): void {
    if (anchor !== undefined) this.anchorSizes.set(anchor, size);
  }

  private aliasSize(alias: Alias): number {
    return this.anchorSizes.get(alias.source) ?? this.fail(alias, `*${alias.source} names no anchor before it`);
  }

  private collectionSize(node: YAMLMap | YAMLSeq, depth: number): number {
    if (depth >= this.bounds.depthMax) return this.fail(node, `nested more than ${this.bounds.depthMax} deep`);
    if (isMap(node)) this.checkKeys(node.items);
    let size = 1;
    for (const item of node.items) size += this.sizeOf(item, depth + 1);
    return size > this.bounds.valuesMax ? this.fail(node, `more than ${this.bounds.valuesMax} values`) : size;
  }

  private checkKeys(pairs: readonly Pair[]): void {
    const seen = new Set<string>();
    for (const { key } of pairs) {
      if (!isScalar(key)) this.fail(key, "a key must be a plain string");
      else if (seen.has(String(key.value))) this.fail(key, `the key ${JSON.stringify(key.value)} is repeated`);
      else seen.add(String(key.value));
    }
  }

  private fail(node: unknown, message: string): number {
    this.fault ??= { offset: (node as Partial<Node> | null)?.range?.[0] ?? 0, message };
    return 0;
  }
}
