import { random } from "../../runtime/metrics/oracle/generated-series.ts";

/** One hostile request: a text, and how it is sent. */
export interface HostileRequest {
  /** Parameters of the target, as written. */
  readonly target: string;
  readonly form: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
}

const other = "brand-b";

/** Texts that try to leave the subset or the tenant. */
const texts: readonly string[] = [
  `{__name__=~".+"}`,
  `{__name__="lag_items"}`,
  `{"lag_items", tenant="${other}"}`,
  `sum({__name__=~"lag.*", tenant="${other}"})`,
  "lag_items",
  `sum(avg_over_time(lag_items{tenant="${other}"}[5m]))`,
  `sum(avg_over_time(lag{tenant="${other}"}[5m]))`,
  `sum(avg_over_time(lag{tenant="brand-a", tenant="${other}"}[5m]))`,
  `sum(avg_over_time(lag{tenant="${other}", tenant="brand-a"}[5m]))`,
  `sum(avg_over_time(lag{tenant=~"brand-a|${other}"}[5m]))`,
  `sum(avg_over_time(lag{tenant=~"brand-.*"}[5m]))`,
  `sum(avg_over_time(lag{tenant=~".+"}[5m]))`,
  `sum(avg_over_time(lag{tenant=~"brand-[ab]"}[5m]))`,
  `sum(avg_over_time(lag{tenant=~"(?i)BRAND-B"}[5m]))`,
  `sum(avg_over_time(lag{tenant!="brand-a"}[5m]))`,
  `sum(avg_over_time(lag{tenant!~"brand-a"}[5m]))`,
  `sum(avg_over_time(lag{tenant="brand-\\x62"}[5m]))`,
  `sum(avg_over_time(lag{tenant="brand-\\u0062"}[5m]))`,
  `sum(avg_over_time(lag{tenant='${other}'}[5m]))`,
  `sum(avg_over_time(lag{tenant=\`${other}\`}[5m]))`,
  `sum(avg_over_time(lag{tenant=""}[5m]))`,
  `sum(avg_over_time(lag{service="\\"} or lag_items{tenant=\\"${other}"}[5m]))`,
  `sum(avg_over_time(lag{service="x\\",tenant=\\"${other}"}[5m]))`,
  `sum(avg_over_time(lag{service=~"x\\\\|.*"}[5m]))`,
  `sum(avg_over_time(lag{service=~"a.b"}[5m]))`,
  `sum by (tenant) (avg_over_time(lag[5m]))`,
  `sum without (tenant) (avg_over_time(lag[5m]))`,
  `sum by (__name__) (avg_over_time(lag[5m]))`,
  `sum by (env) (avg_over_time(lag[5m]))`,
  `sum by ("tenant") (avg_over_time(lag[5m]))`,
  `sum(avg_over_time(lag[5m] offset 1h))`,
  `sum(avg_over_time(lag[5m] @ 0))`,
  `sum(avg_over_time(lag[1h:5m]))`,
  `label_replace(sum(avg_over_time(lag[5m])), "tenant", "${other}", "", "")`,
  `sum(avg_over_time(lag[5m])) + on () group_left sum(avg_over_time(lag{tenant="${other}"}[5m]))`,
  `absent(lag_items{tenant="${other}"})`,
  `count_values("v", lag)`,
  `topk(1, lag)`,
  `vector(1)`,
  `time()`,
  `"text"`,
  `sum(avg_over_time(lag[5m])) # } or lag_items{tenant="${other}"}`,
  `sum(avg_over_time(lag[5m]))\n or sum(avg_over_time(lag{tenant="${other}"}[5m]))`,
  `sum(avg_over_time(lag{\u0074enant="${other}"}[5m]))`,
  `sum(avg_over_time(ｌag[5m]))`,
  `sum(avg_over_time(lag\u0000_items[5m]))`,
  `sum(avg_over_time(lag\u200b{tenant="${other}"}[5m]))`,
  `sum(avg_over_time(lag[99999999999999d]))`,
  `sum(avg_over_time(lag[-5m]))`,
  `sum(avg_over_time(lag[5m])) == ${"9".repeat(400)}`,
  "(".repeat(5_000),
  "-".repeat(5_000) + "1",
  `1${"+1".repeat(3_000)}`,
  `${"sum(avg_over_time(lag[5m])) + ".repeat(40)}1`,
  `sum(avg_over_time(lag{service=~"${"x|".repeat(3_000)}x"}[5m]))`,
  "",
  " ",
];

const tokens: readonly string[] = [
  '"',
  "'",
  "`",
  "\\",
  "{",
  "}",
  "|",
  ".*",
  ",",
  "(",
  ")",
  `tenant="${other}"`,
  `tenant=~"${other}|brand-a",`,
  `{__name__=~".+"}`,
  " or ",
  " unless ",
  " @ 0",
  " offset 1m",
  ":total",
  "_items",
  "\u0000",
  "\ud800",
  "é",
  "#",
  "\n",
  "[1m:10s]",
  "le",
];

/** The hand-made texts in every way to send them, and mutations of valid texts. */
export function hostileRequests(valid: readonly string[], count: number): readonly HostileRequest[] {
  const next = random(20_261_124);
  const handMade = texts.map((query, index) => sent(query, index));
  const mutated = Array.from({ length: count - handMade.length }, (_, index) =>
    sent(mutate(valid[index % valid.length] ?? "", next), index),
  );
  return [...handMade, ...mutated];
}

function mutate(text: string, next: () => number): string {
  const below = (limit: number): number => Math.floor(next() * limit);
  let mutated = text;
  for (let left = 1 + below(3); left > 0; left -= 1) {
    const at = below(mutated.length);
    const end = next() < 0.5 ? at : Math.min(mutated.length, at + below(12));
    mutated = `${mutated.slice(0, at)}${tokens[below(tokens.length)] ?? ""}${mutated.slice(end)}`;
  }
  return next() < 0.2 ? mutated.replaceAll("brand-a", other) : mutated;
}

/** The ways to send a text: alone, beside a harmless one, behind another tenant's header. */
function sent(query: string, index: number): HostileRequest {
  const harmless = "sum(avg_over_time(lag[5m]))";
  const encoded = `query=${encodeURIComponent(query.toWellFormed())}`;
  const alone = { target: "", form: new URLSearchParams({ query }), headers: {} };
  const ways: readonly HostileRequest[] = [
    alone,
    { ...alone, headers: { "x-scope-orgid": other } },
    { ...alone, headers: { "x-scope-orgid": `brand-a|${other}` } },
    { target: `query=${encodeURIComponent(harmless)}`, form: new URLSearchParams({ query }), headers: {} },
    { target: encoded, form: new URLSearchParams({ query: harmless }), headers: {} },
    { target: `${encoded}&${encoded}`, form: new URLSearchParams(), headers: {} },
    { target: "tenant=brand-b&filter%5Btenant%5D=brand-b", form: new URLSearchParams({ query }), headers: {} },
    {
      ...alone,
      form: new URLSearchParams(Array.from({ length: 50 }, (): [string, string] => ["query", query])),
    },
  ];
  return ways[index % ways.length] ?? alone;
}
