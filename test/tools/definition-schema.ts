/**
 * The part of the Kubernetes structural schema that the resources use. Source: `openAPIV3Schema` of a
 * CustomResourceDefinition.
 */
export interface Schema {
  readonly description?: string;
  readonly type: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly required?: readonly string[];
  /** True for an object of any content, which no rule reads. */
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly "x-kubernetes-list-type"?: "map" | "set" | "atomic";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-validations"?: readonly CelRule[];
}

/** One rule that the API server evaluates. */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** The field at fault, below the place of the rule. @default the place itself */
  readonly fieldPath?: string;
}
