import { resolveTool } from "../../tools/resolve.ts";
import { succeed } from "../../tools/run.ts";
import { type PrometheusClient, readElements, type Target, type WrittenElement } from "./client.ts";

const runMsMax = 60_000;

/** client_golang, with what only it asks. */
export interface GoClient extends PrometheusClient {
  /** One call by the name that `test/tools/prometheus-client/main.go` gives it. */
  ask(method: string, ...args: readonly string[]): Promise<unknown>;
}

interface Outcome {
  readonly value?: unknown;
  readonly warnings?: readonly string[];
  readonly error?: string;
  readonly kind?: string;
  readonly detail?: string;
}

/** The Prometheus project's library for Go. */
export async function goClient({ url, token }: Target): Promise<GoClient> {
  const command = await resolveTool("prometheus-client");
  const outcome = async (...args: readonly string[]): Promise<Outcome> => {
    const made = JSON.parse(await succeed(command, [url, token, ...args], { timeoutMs: runMsMax })) as Outcome;
    if (made.error === undefined) return made;
    throw new Error([made.error, made.detail].filter(Boolean).join("\n"));
  };
  const elements = async (...args: readonly string[]) => {
    const { value, warnings = [] } = await outcome(...args);
    const { result } = value as { readonly result: readonly WrittenElement[] | null };
    return { series: readElements(result ?? []), warnings };
  };
  return {
    name: "client_golang",
    ask: async (...args) => (await outcome(...args)).value,
    instant: (expression, seconds) => elements("query", expression, String(seconds)),
    range: (expression, { start, end, step }) => elements("query_range", expression, ...[start, end, step].map(String)),
    labelValues: async (label) => ((await outcome("label_values", label)).value ?? []) as readonly string[],
    series: async (selector) =>
      ((await outcome("series", selector)).value ?? []) as readonly Readonly<Record<string, string>>[],
  };
}
