const listOfValues = /filter_in\[([a-z_]+)\]=[^\s;&]+(?:&filter_in\[\1\]=[^\s;&]+)*/gu;
const filter = /filter(?:_in)?\[([a-z_]+)\](?:=([^\s;&]+))?/gu;

/** A sentence of the native API in the words of PromQL: its filters are matchers, and `group_by` is `by`. */
export function inPromql(sentence: string): string {
  return sentence
    .replaceAll(listOfValues, (text, label: string) => `${label}=~"${valuesOf(text).join("|")}"`)
    .replaceAll(filter, (_text, label: string, value: string | undefined) => `${label}="${value ?? "…"}"`)
    .replaceAll(/\bgroup_by\b/gu, "by")
    .replaceAll("/v1/metrics/catalog", "/prometheus/api/v1/metadata");
}

function valuesOf(text: string): readonly string[] {
  return text.split("&").map((pair) => pair.slice(pair.indexOf("=") + 1));
}
