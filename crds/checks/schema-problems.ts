import type { ErrorObject } from "ajv";
import type { FieldProblem, FieldReason } from "../problem.ts";
import { firstRepeated } from "./schema-validators.ts";

interface Words {
  readonly reason: FieldReason;
  /** The requirement that the field breaks, in words that follow its name. */
  readonly words: (error: ErrorObject) => string;
  /** Index of the item at fault in a list. @default none */
  readonly below?: (error: ErrorObject) => string;
}

const limit = ({ params }: ErrorObject): string => String(params["limit"]);

/** One row per keyword that the schemas use. */
const wordsOf: Readonly<Record<string, Words>> = {
  required: { reason: "Required", words: () => "is required" },
  additionalProperties: { reason: "Unknown", words: () => "is not a known field" },
  type: { reason: "WrongType", words: ({ params }) => `must be of type ${String(params["type"])}` },
  enum: { reason: "NotSupported", words: ({ schema }) => `must be ${alternatives(schema)}` },
  pattern: { reason: "Malformed", words: ({ params }) => `must match ${String(params["pattern"])}` },
  format: { reason: "Malformed", words: () => "must be a time in UTC like 2026-01-31T12:00:00Z" },
  minimum: { reason: "OutOfRange", words: (error) => `must be at least ${limit(error)}` },
  maximum: { reason: "OutOfRange", words: (error) => `must be at most ${limit(error)}` },
  minLength: { reason: "OutOfRange", words: () => "must not be empty" },
  maxLength: { reason: "OutOfRange", words: (error) => `must have at most ${limit(error)} characters` },
  minItems: {
    reason: "OutOfRange",
    words: (error) => (limit(error) === "1" ? "must not be empty" : `must have at least ${limit(error)} items`),
  },
  maxItems: { reason: "OutOfRange", words: (error) => `must have at most ${limit(error)} items` },
  maxProperties: { reason: "OutOfRange", words: (error) => `must have at most ${limit(error)} entries` },
  "x-kubernetes-list-type": {
    reason: "Duplicate",
    words: () => "is already in the list",
    below: ({ data }) => repeatedIndex(data, []),
  },
  "x-kubernetes-list-map-keys": {
    reason: "Duplicate",
    words: ({ schema }) => `has the ${list(schema).join(", ")} of an earlier item`,
    below: ({ data, schema }) => repeatedIndex(data, list(schema)),
  },
};

/** Violations of the schema, one problem for each field, in sentences that begin with the field's own name. */
export function schemaProblems(errors: readonly ErrorObject[]): readonly FieldProblem[] {
  const problems = errors.map((error): FieldProblem => {
    const { reason, words, below } = wordsOf[error.keyword] ?? { reason: "Invalid", words: () => error.message ?? "" };
    const field = fieldOf(error) + (below?.(error) ?? "");
    return { field, reason, message: `${leafOf(field)} ${words(error)}` };
  });
  return problems.filter(({ field }, index) => problems.findIndex((other) => other.field === field) === index);
}

/** `/spec/metrics/3/id` → `spec.metrics[3].id`; an unknown or missing member is named itself. */
export function fieldOf({ instancePath, params }: ErrorObject): string {
  const { additionalProperty, missingProperty } = params as Readonly<Record<string, string | undefined>>;
  const member = additionalProperty ?? missingProperty;
  const segments = instancePath.split("/").slice(1);
  const names = segments.map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
  const path = names.map((name) => (/^\d+$/u.test(name) ? `[${name}]` : `.${name}`)).join("");
  return `${path}${member === undefined ? "" : `.${member}`}`.replace(/^\./u, "");
}

function leafOf(field: string): string {
  return /[^.]*$/u.exec(field)?.[0] || "the object";
}

function repeatedIndex(data: unknown, keys: readonly string[]): string {
  const index = firstRepeated(list(data), keys);
  return index === undefined ? "" : `[${index}]`;
}

function alternatives(schema: unknown): string {
  const [last = "", ...others] = list(schema).toReversed();
  return others.length === 0 ? last : `${others.toReversed().join(", ")} or ${last}`;
}

function list(value: unknown): readonly string[] {
  return Array.isArray(value) ? value : [];
}
