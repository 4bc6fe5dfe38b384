import { Refusal } from "../../errors/refusal.ts";

/** One media range of an `Accept` header, lowercase, with its weight. */
interface MediaRange {
  readonly range: string;
  readonly weight: number;
}

const weightPattern = /^q=(?<weight>0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/iu;
const rangePattern = /^(?:\*\/\*|[\w!#$&^.+-]+\/(?:\*|[\w!#$&^.+-]+))$/u;

/**
 * The offered media type with the greatest weight in an `Accept` header. Of equal weights the first offered wins.
 * Without a header every type is accepted. Parameters other than the weight are ignored. Source: RFC 9110 §12.5.1.
 * @param offered lowercase, the preferred one first
 * @throws Refusal `not_acceptable` that lists what is offered
 */
export function chooseMediaType<Type extends string>(accept: string | undefined, offered: readonly Type[]): Type {
  const ranges = rangesOf(accept ?? "*/*");
  const [best] = offered
    .map((type) => ({ type, weight: weightOf(type, ranges) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight);
  if (best !== undefined) return best.type;
  throw new Refusal("not_acceptable", `This path returns ${offered.join(" or ")}.`);
}

/** Elements that are no media range match nothing and are left out. */
function rangesOf(accept: string): readonly MediaRange[] {
  return accept.split(",").flatMap((element) => {
    const [range = "", ...parameters] = element.split(";").map((part) => part.trim().toLowerCase());
    if (!rangePattern.test(range)) return [];
    const weight = parameters.map((parameter) => weightPattern.exec(parameter)?.groups?.["weight"]).find(isText);
    const isBroken = weight === undefined && parameters.some((parameter) => parameter.startsWith("q="));
    return isBroken ? [] : [{ range, weight: Number(weight ?? 1) }];
  });
}

/** The weight of the most specific range that matches. */
function weightOf(type: string, ranges: readonly MediaRange[]): number {
  const candidates = [type, `${type.split("/")[0] ?? ""}/*`, "*/*"];
  const decisive = candidates
    .map((candidate) => ranges.filter(({ range }) => range === candidate))
    .find((found) => found.length > 0);
  return Math.max(0, ...(decisive ?? []).map(({ weight }) => weight));
}

function isText(value: string | undefined): value is string {
  return value !== undefined;
}
