/** One answer, as curl would show it. */
export interface ShownAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** The parts of a problem document that are shown. */
interface ProblemBody {
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly field: string; readonly detail: string }[];
}

const requestMsMax = 10_000;

/** What the demo prints to, and how it asks: every request is shown with its answer. */
export interface Stage {
  say(line: string): void;
  title(line: string): void;
  /** @throws Error when the status is another one, so that a demo that shows something false ends with 1 */
  ask(what: string, expected: number, path: string, init?: RequestInit): Promise<ShownAnswer>;
}

/** A stage in front of one running installation. */
export function createStage(baseUrl: string, write: (text: string) => void): Stage {
  const say = (line: string): void => write(`${line}\n`);
  return {
    say,
    title: (line) => say(`\n== ${line}`),
    ask: async (what, expected, path, init = {}) => {
      const response = await fetch(`${baseUrl}${path}`, { ...init, signal: AbortSignal.timeout(requestMsMax) });
      const body: unknown = await response.json();
      say(`   ${response.status}  ${what}${reasonOf(body)}`);
      if (response.status !== expected)
        throw new Error(`${what}: expected ${expected}, got ${response.status} ${JSON.stringify(body)}`);
      return { status: response.status, headers: response.headers, body };
    },
  };
}

/** Of a problem document, what it says. */
function reasonOf(body: unknown): string {
  const { code, detail = "", errors = [] } = body as ProblemBody;
  if (code === undefined) return "";
  const fields = errors
    .filter((error) => error.detail !== detail)
    .map((error) => `\n          ${error.field}: ${error.detail}`);
  return `: ${code}: ${detail}${fields.join("")}`;
}

/** @throws Error naming the claim when it does not hold */
export function claim(holds: boolean, what: string): void {
  if (!holds) throw new Error(`The demo shows that it is not so: ${what}`);
}
