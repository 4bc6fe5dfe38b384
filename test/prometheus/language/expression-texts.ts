import * as fc from "fast-check";

/** Blanks and comments between two tokens. */
const gap = fc.constantFrom("", "", "", " ", "  ", "\t", "\n", ' # a "comment" (\n');
/** At least one blank. */
const space = fc.constantFrom(" ", " ", "\n\t", " #\r\n");

/** Parts of a text with gaps between them. */
function join(...parts: readonly (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> {
  const all = parts.map((part) => (typeof part === "string" ? fc.constant(part) : part));
  return fc.tuple(...all.flatMap((part) => [gap, part])).map((texts) => texts.join("").replace(/^\s+/u, ""));
}

const metric = fc.constantFrom("m", "http_requests_total", "a:b:c", "_x1", ":y", "Rate", "infx", "nano");
const label = fc.constantFrom("a", "le", "region_1", "by", "sum", "without", "Inf", "__name", "offset");
const bareLabel = label.filter((name) => name !== "without" && name !== "Inf");
const characters = fc.constantFrom(..."aB9 é😀_-/.*+?()|[]{}^$\\\"'`#=~\u2028\u0001".split(/(?!$)/u));
const value = fc.oneof(
  fc.constantFrom("eu", "10.0.0.1", "a b", "x|y", "(z)", ""),
  fc.array(characters, { minLength: 1, maxLength: 6 }).map((all) => all.join("")),
);

/** A value between quotes of any kind, with the escapes that it needs or with escapes for every character. */
function quoted(of: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(of, fc.constantFrom('"', "'", "`", "u", "U")).map(([text, quote]) => {
    if (quote === "`" && !text.includes("`")) return `\`${text}\``;
    if (quote === "u" || quote === "U") return `"${Array.from(text, escapeCode).join("")}"`;
    const used = quote === "'" ? "'" : '"';
    return used + text.replaceAll("\\", "\\\\").replaceAll(used, `\\${used}`).replaceAll("\n", "\\n") + used;
  });
}

const escapeCode = (character: string): string => `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`;

/** A regular expression that is a list of literals. */
const pattern = fc.tuple(fc.array(value, { minLength: 1, maxLength: 3 }), fc.boolean()).map(([values, isGroup]) => {
  const list = values.map((text) => text.replaceAll(/[\\.+*?()|[\]{}^$]/gu, "\\$&")).join("|");
  return isGroup ? `(${list})` : list;
});

const strangeLabels = ["a.b", "x y", "é"];
const anyLabel = fc.oneof(label, fc.constantFrom(...strangeLabels));

function matcherOf(name: string): fc.Arbitrary<string> {
  const inQuotes = quoted(fc.constant(name));
  const written = strangeLabels.includes(name) ? inQuotes : fc.oneof(fc.constant(name), inQuotes);
  const any = fc.constantFrom('!=""', "!= ''", "=~`.+`", '=~".+"');
  return fc.oneof(join(written, "=", quoted(value)), join(written, "=~", quoted(pattern)), join(written, any));
}

const matchers = fc.uniqueArray(anyLabel, { maxLength: 3 }).chain((names) => fc.tuple(...names.map(matcherOf)));
const comma = fc.constantFrom("", "", ",");

const braces = fc.tuple(matchers, comma).chain(([all, last]) => {
  return join("{", all.join(","), ...(all.length > 0 ? [last] : []), "}");
});
const named = fc.constantFrom('{__name__="m"}', '{"m"}', "{'sum', a=\"b\"}", '{a="b", "__name__"=`x y`, }');
const selector = fc.oneof(metric, join(metric, braces), named);

const duration = fc.constantFrom("5m", "1h30m", "90s", "1d", "1w", "1y", "100ms", "1h0m5s", "05m", "300", "0.5", "1e3");
/** The step of a subquery has no fraction: the token of the colon ends at its point. */
const step = duration.filter((text) => !text.includes("."));

/** A window begins without a comment. */
const window = fc.tuple(selector, gap, duration, gap).map(([of, before, length, after]) => {
  return `${of}${before}[ ${length}${after}]`;
});
const number = fc.oneof(
  fc.constantFrom(
    "0",
    "1",
    "0.5",
    ".5",
    "5.",
    "1e3",
    "1E-7",
    "2.5e+10",
    "1e-400",
    "9007199254740993",
    "18446744073709551616",
  ),
  fc.constantFrom("Inf", "inf", "NaN", "nan", "0x1F", "0X_1f", "1_000", "5m", "1h30m", "1100ms", "0s"),
  fc.double({ min: 0, max: 1e25, noNaN: true, noDefaultInfinity: true }).map(String),
  fc.nat().map(String),
);

const any = fc.letrec<Record<"scalar" | "vector" | "signed" | "operand", string>>((tie) => ({
  signed: fc.oneof({ maxDepth: 4 }, number, number, join("-", tie("signed")), join("(", tie("scalar"), ")")),
  scalar: fc.oneof(
    { maxDepth: 3 },
    tie("signed"),
    join(tie("signed"), fc.constantFrom("+", "-", "*", "/"), tie("scalar")),
    fc
      .tuple(tie("signed"), gap, fc.constantFrom("==", "!=", "<", "<=", ">", ">="), space, tie("signed"))
      .map(([left, blank, op, after, right]) => `(${left}${blank}${op}${after}Bool ${right})`),
  ),
  operand: fc.oneof(
    { maxDepth: 4 },
    selector,
    aggregate(window.map((of) => `avg_over_time(${of})`)),
    join(fc.constantFrom("rate", "increase", "min_over_time", "max_over_time"), "(", window, ")"),
    join(fc.constantFrom("histogram_avg", "histogram_sum", "histogram_count"), "(", tie("vector"), ")"),
    join("histogram_quantile", "(", tie("scalar"), ",", tie("vector"), ")"),
    join("histogram_fraction", "(", tie("scalar"), ",", tie("scalar"), ",", tie("vector"), ")"),
    aggregate(tie("vector")),
    join("-", tie("operand")),
    join("(", tie("vector"), ")"),
    join(fc.constantFrom("avg_over_time", "count_over_time"), "(", subqueryOf(tie("vector")), ")"),
  ),
  vector: fc.oneof(
    { maxDepth: 4 },
    tie("operand"),
    join(tie("operand"), fc.constantFrom("+", "-", "*", "/"), fc.oneof(tie("vector"), tie("signed"))),
    join(tie("signed"), fc.constantFrom("+", "/", "<"), tie("operand")),
    fc
      .tuple(tie("operand"), space, fc.constantFrom("and", "OR", "unless"), space, tie("vector"))
      .map((all) => all.join("")),
    fc
      .tuple(tie("operand"), gap, fc.constantFrom("==", "!=", "<", ">="), fc.constantFrom("", " bool "), tie("vector"))
      .map((all) => all.join("")),
  ),
}));

/** A subquery, of which a metric has parentheses. */
function subqueryOf(of: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(of, gap, duration, fc.constantFrom(":", " : ", ": ", " :"), step).map((all) => {
    const [inside, before, length, colon, ownStep] = all;
    return `(${inside})${before}[${length}${colon}${ownStep}]`;
  });
}

/** Not the label `without` in quotes: the formatter of Prometheus writes it without them, which it cannot read. */
function aggregate(of: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const op = fc.constantFrom("sum", "avg", "min", "max", "SUM");
  const one = fc.oneof(bareLabel, quoted(fc.constantFrom("a", "x y")));
  const labels = fc.tuple(fc.array(one, { maxLength: 3 }), comma).map(([all, last]) => {
    return `(${all.join(" , ")}${all.length > 0 ? last : ""})`;
  });
  return fc.oneof(
    join(op, "(", of, ")"),
    join(op, fc.constant(" by"), labels, "(", of, ")"),
    join(op, "(", of, ")", "BY", labels),
  );
}

/** Expressions of the subset, with every blank, quote and form of number that it has. */
export const expressionTexts: fc.Arbitrary<string> = fc.oneof(any.vector, any.vector, any.scalar, window);

/** Tokens of the whole language, and characters that are none. */
const tokens =
  "( ) { } [ ] , + - * / % ^ == != <= < > >= = =~ !~ @ : # \" ' ` \\ $ . _ 0 7 e E x é 😀 \u0000 \n [5m] " +
  "[5m:1m] [5m:] offset by without on(a) ignoring(b) group_left group_right() bool and or unless atan2 sum " +
  "count topk quantile group " +
  "start() end() step() inf nan 0x1f 0x1e+5 0xee 017 08 1_0 1e 5m 1.5m 1m1h m sum( rate( irate( absent( scalar( time() " +
  'label_replace( {a="b"} {a!="b"} {a=~"a.*"} {__name__=~".+"} "x" anchored smoothed fill(1) fill_left(0) </ >/ 1y_ -0 ' +
  "(?:a|b) a|b| .* .+ \\d \\\\d \\x41 \\xff \\u00e9 \\ud800 \\101 \\777 \\q \ufffd \u00a0 \v";
const token = fc.constantFrom(...tokens.split(" "), " ", "\n");

/** A change of a text at a place between 0 and 1. */
const mutation = fc.tuple(
  fc.constantFrom("delete", "insert", "insert", "replace", "swap", "double"),
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.integer({ min: 1, max: 5 }),
  token,
);

/** Texts that were expressions of the subset before somebody typed. */
export const mutatedTexts: fc.Arbitrary<string> = fc
  .tuple(expressionTexts, fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([text, mutations]) => mutations.reduce(mutate, text));

function mutate(
  text: string,
  [kind, place, length, inserted]: readonly [kind: string, place: number, length: number, inserted: string],
): string {
  const at = Math.floor(place * text.length);
  const [before, part, after] = [text.slice(0, at), text.slice(at, at + length), text.slice(at + length)];
  switch (kind) {
    case "delete":
      return before + after;
    case "insert":
      return before + inserted + part + after;
    case "replace":
      return before + inserted + after;
    case "swap":
      return before + Array.from(part).reverse().join("") + after;
    default:
      return before + part + part + after;
  }
}
