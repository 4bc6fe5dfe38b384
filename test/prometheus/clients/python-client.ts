import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type PrometheusClient, readElements, type Target, type WrittenElement } from "./client.ts";

const program = fileURLToPath(new URL("../../tools/prometheus-api-client/ask.py", import.meta.url));
const hourSeconds = 3_600;

/** prometheus-api-client, with what only it asks. */
export interface PythonClient extends PrometheusClient {
  /** One call by the name that the program gives it. */
  ask(method: string, args?: object): Promise<unknown>;
}

/** A usual library for Python. It drops warnings. @param command the interpreter that has it */
export function pythonClient({ url, token }: Target, command: string, http: "GET" | "POST" = "GET"): PythonClient {
  const ask: PythonClient["ask"] = async (method, args = {}) => {
    const child = spawn(command, [program, url, token], { stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.end(JSON.stringify({ http, calls: [[method, args]] }));
    const [written, complaints] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (written === "") throw new Error(complaints);
    const [answer] = JSON.parse(written) as readonly [{ readonly value?: unknown; readonly error?: string }];
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.value;
  };
  const elements = async (method: string, args: object) => ({
    series: readElements((await ask(method, args)) as readonly WrittenElement[]),
  });
  return {
    name: `prometheus-api-client by ${http}`,
    ask,
    instant: (query, time) => elements("instant", { query, time }),
    range: (query, { start, end, step }) => elements("range", { query, start, end, step: `${step}s` }),
    labelValues: async (label) => (await ask("label_values", { label })) as readonly string[],
    series: async (match) => {
      const end = Math.floor(Date.now() / 1_000);
      const found = await ask("series", { match, start: end - hourSeconds, end });
      return found as readonly Readonly<Record<string, string>>[];
    },
  };
}
