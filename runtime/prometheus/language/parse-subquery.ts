import type { Expression, Subquery } from "./expression.ts";
import { Fault, readNumberLiteral } from "./literals.ts";
import { windowMs } from "./parse-selector.ts";
import type { Token, TokenReader } from "./token-reader.ts";

/** Reads the window and the step behind a part, `[1h:5m]`. @throws Fault without a step */
export function parseSubquery(reader: TokenReader, of: Expression): Subquery {
  reader.expect("[");
  const length = reader.next;
  if (length.kind !== "number") throw reader.unexpected("a duration such as 5m");
  reader.take();
  const rangeMs = windowMs(reader, length);
  const colon = reader.next;
  if (colon.kind !== "name" || !colon.text.startsWith(":"))
    throw new Fault("a range is allowed only on a metric; a subquery has a step, such as [1h:5m]", colon.start);
  reader.take();
  const stepMs = subqueryStepMs(reader, colon);
  return { kind: "subquery", of, rangeMs, stepMs, span: { start: of.span.start, end: reader.expect("]").end } };
}

/** The step is a part of the word that begins with the colon, or the number behind a colon alone. */
function subqueryStepMs(reader: TokenReader, { text, start, end }: Token): number {
  if (/^:\d/u.test(text)) {
    const { value, end: length } = readNumberLiteral(text, 1);
    if (length === text.length && reader.isAt("]"))
      return windowMs(reader, { kind: "number", text: "", value, start: start + 1, end });
  } else if (text === ":" && reader.next.kind === "number") return windowMs(reader, reader.take());
  throw new Fault("a subquery requires a step in whole units, such as [1h:5m]", start + 1);
}
