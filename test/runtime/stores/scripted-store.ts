import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { leaveCutOff, listenOnLoopback } from "../../support/loopback.ts";

/** One request to a store. */
export interface StoreRequest {
  readonly path: string;
  readonly form: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
}

/** Writes an answer, or leaves the store silent. */
export type StoreReply = (response: ServerResponse, request: StoreRequest) => void;

/** An HTTP server that misbehaves as its test says: for what no healthy Prometheus can be made to do. */
export interface ScriptedStore {
  readonly url: string;
  readonly requests: readonly StoreRequest[];
  /** Connections made so far. */
  connections(): number;
  /** Requests whose client went away before they were answered. */
  abandoned(): number;
  close(): Promise<void>;
}

/** Starts a store that answers everything with `reply`. */
export async function startScriptedStore(reply: StoreReply): Promise<ScriptedStore> {
  const requests: StoreRequest[] = [];
  let abandoned = 0;
  const server = createServer((message, response) => {
    response.on("close", () => {
      if (!response.writableEnded) abandoned += 1;
    });
    void readForm(message).then((form) => {
      const request = { path: message.url ?? "", form, headers: message.headers };
      requests.push(request);
      reply(response, request);
    }, leaveCutOff);
  });
  const loopback = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${loopback.port}`,
    requests,
    connections: () => loopback.connections(),
    abandoned: () => abandoned,
    close: () => loopback.close(),
  };
}

/** What a healthy store says, for a given path. */
export function success(data: unknown, warnings?: readonly string[]): StoreReply {
  return json(200, { status: "success", data, ...(warnings === undefined ? {} : { warnings }) });
}

/** A matrix with one series without labels. */
export function matrix(...values: readonly (readonly [seconds: number, value: string])[]): object {
  return { resultType: "matrix", result: [{ metric: {}, values }] };
}

/** A vector with one value. */
export function vector(value: string): object {
  return { resultType: "vector", result: [{ metric: {}, value: [0, value] }] };
}

export function json(status: number, body: unknown): StoreReply {
  return text(status, JSON.stringify(body), "application/json");
}

export function text(status: number, body: string, type = "text/html"): StoreReply {
  return (response) => void response.writeHead(status, { "content-type": type }).end(body);
}

/** How a store answers its probe. */
interface ProbeAnswers {
  /** Values in a range of two seconds. @default "2" */
  readonly counted?: string;
  /** Increase by 30 in the last half of a minute. @default "37.5" */
  readonly increased?: string;
  /** @default true */
  readonly anchored?: boolean;
  /** @default true */
  readonly native?: boolean;
}

/** Answers the probe as Prometheus 3 with anchored ranges unless told otherwise, everything else with `reply`. */
export function healthyProbe(reply: StoreReply, answers: ProbeAnswers = {}): StoreReply {
  const { counted = "2", increased = "37.5", anchored = true, native = true } = answers;
  const refusal = json(400, { status: "error", errorType: "bad_data", error: "parse error" });
  const known = (is: boolean): StoreReply => (is ? success({ resultType: "vector", result: [] }) : refusal);
  const replies: readonly (readonly [start: string, reply: StoreReply])[] = [
    ["count_over_time(vector(1)", success(vector(counted))],
    ["increase((vector(time())", success(vector(increased))],
    ["count(increase(", known(anchored)],
    ["count(histogram_count(", known(native)],
  ];
  return (response, request) => {
    const query = request.form.get("query") ?? "";
    const own = replies.find(([start]) => query.startsWith(start))?.[1];
    if (own !== undefined) own(response, request);
    else onePoint(reply)(response, request);
  };
}

/**
 * Lets a reply to range queries reply to the instant queries that read one point too. Those for the time of the newest
 * sample stay as they are.
 */
function onePoint(reply: StoreReply): StoreReply {
  return (response, request) => {
    const { path, form } = request;
    const time = form.get("time");
    if (!path.endsWith("/query") || time === null || /\btimestamp\(/u.test(form.get("query") ?? ""))
      return reply(response, request);
    const ranged = new URLSearchParams(form);
    for (const name of ["start", "end"]) ranged.set(name, time);
    ranged.set("step", "1");
    const end = response.end.bind(response);
    response.end = ((body?: string) => end(body && vectorOf(body))) as typeof response.end;
    return reply(response, { ...request, path: `${path}_range`, form: ranged });
  };
}

interface MatrixBody {
  readonly data?: {
    readonly resultType?: string;
    readonly result?: readonly { readonly values?: readonly unknown[]; readonly histograms?: readonly unknown[] }[];
  };
}

/** A body of a matrix with one point as that of a vector; any other as it is. */
function vectorOf(body: string): string {
  if (!body.includes('"matrix"')) return body;
  const { data, ...others } = JSON.parse(body) as MatrixBody;
  const result = data?.result?.map(({ values, histograms, ...entry }) => ({
    ...entry,
    ...(values?.[0] === undefined ? {} : { value: values[0] }),
    ...(histograms?.[0] === undefined ? {} : { histogram: histograms[0] }),
  }));
  return JSON.stringify({ ...others, data: { resultType: "vector", result } });
}

async function readForm(message: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}
