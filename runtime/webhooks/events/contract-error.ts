import type { EventVersionConfig } from "../../../crds/config.ts";
import type { DeclaredType } from "../../../crds/declared-types.ts";
import type { PointerProblem, SchemaNode } from "../../../crds/event-schema/schema-node.ts";
import { measuredValidation } from "../../../crds/event-schema/validate-data.ts";
import { ApiError, type FieldError } from "../../errors/api-error.ts";
import type { Envelope } from "./envelope.ts";
import { fieldPath } from "./personal-data.ts";

const unchecked = { problems: [], steps: 0 };

/** How events are judged by declared types. */
interface ContractTerms {
  /** Whether a type or version that no catalog declares is rejected. */
  readonly rejectsUndeclared: boolean;
  /** Unix milliseconds at which versions may have ended. */
  readonly nowMs: number;
  /** The parsed schema of a version; undefined: its events are not validated. */
  readonly rootOf: (type: string, declared: EventVersionConfig) => SchemaNode | undefined;
  /** Receives the steps of a validation. */
  readonly onSteps?: (steps: number) => void;
}

/**
 * Why declared types reject an event; undefined if they do not. The errors are `invalid_data`, `version_retired` and
 * `undeclared_type`.
 */
export function contractError(
  types: ReadonlyMap<string, DeclaredType>,
  { type, version, data = {} }: Pick<Envelope, "type" | "version" | "data">,
  { rejectsUndeclared, nowMs, rootOf, onSteps }: ContractTerms,
): ApiError | undefined {
  const known = types.get(type);
  const declared = known?.versions.get(version);
  if (declared === undefined) return rejectsUndeclared ? undeclared(type, version, known) : undefined;
  const { sunsetAtMs } = declared;
  if (sunsetAtMs !== undefined && sunsetAtMs <= nowMs) return retired(type, declared);
  const root = rootOf(type, declared);
  const { problems, steps } = root === undefined ? unchecked : measuredValidation(root, data);
  onSteps?.(steps);
  if (problems.length === 0) return undefined;
  const detail = `The data does not match version ${version} of ${type}`;
  return new ApiError("invalid_data", detail, { errors: problems.map(fieldError) });
}

function undeclared(type: string, version: string, known: DeclaredType | undefined): ApiError {
  const detail =
    known === undefined
      ? `No event catalog declares the type ${type}`
      : `The catalog ${known.catalog} declares no version ${version} of ${type}`;
  return new ApiError("undeclared_type", `${detail}; declare it or correct the event`);
}

function retired(type: string, { version, sunsetAtMs = 0 }: EventVersionConfig): ApiError {
  const at = new Date(sunsetAtMs).toISOString();
  return new ApiError("version_retired", `Version ${version} of ${type} ended at ${at}; send a later version`);
}

/** Texts of data are never in it: only pointers and what the schema has. */
function fieldError({ pointer, detail }: PointerProblem): FieldError {
  const segments = pointer.split("/").slice(1).map(segmentOf);
  return { field: fieldPath(["data", ...segments]), code: "invalid_data", detail: `/data${pointer} ${detail}` };
}

function segmentOf(escaped: string): string | number {
  const name = escaped.replaceAll("~1", "/").replaceAll("~0", "~");
  return /^(?:0|[1-9]\d*)$/u.test(name) ? Number(name) : name;
}
