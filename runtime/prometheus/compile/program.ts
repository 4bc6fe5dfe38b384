// What an expression computes over its selectors.
import type { MetricConfig } from "../../../crds/config.ts";
import type { MetricSelector } from "../../metrics/request/selector.ts";
import type { BinaryOp } from "../language/expression.ts";

/** The computation of an expression. A selector is named by its index. Its depth is that of the expression. */
export type Program =
  | { readonly kind: "number"; readonly value: number }
  /** Unix seconds of each stamp. */
  | { readonly kind: "time" }
  | { readonly kind: "leaf"; readonly index: number }
  | { readonly kind: "negate"; readonly of: Program }
  | { readonly kind: "rank"; readonly order: "desc" | "asc"; readonly count: number; readonly of: Program }
  | {
      readonly kind: "binary";
      readonly op: BinaryOp;
      readonly isBool: boolean;
      readonly left: Program;
      readonly right: Program;
    };

/** An expression as governed queries and the computation over their series. */
export interface CompiledExpression {
  /** Without duplicates, in the order of the text. An expression of numbers has none. */
  readonly selectors: readonly MetricSelector[];
  readonly program: Program;
}

/** What the catalog says of a metric. */
export interface KnownMetric {
  readonly metric: Pick<
    MetricConfig,
    "id" | "source" | "labels" | "aggregations" | "defaultAggregation" | "minStepSeconds" | "maxGroupBy"
  >;
  /** The thresholds of its objectives, in any order. */
  readonly thresholds: readonly number[];
}

/** Finds a metric by its id, as a caller sees the catalog. */
export type LookUp = (metric: string) => KnownMetric | undefined;
