import type { ResponseGrid } from "../runtime/metrics/oracle/asked.ts";
import type { Panel } from "./panels.ts";

/** One series of a response. */
export interface ResponseSeries {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Value by the end of its point, Unix milliseconds. */
  readonly points: ReadonlyMap<number, number>;
  readonly exemplars: readonly ResponseExemplar[];
}

/** One exemplar of a response. */
export interface ResponseExemplar {
  readonly trace_id: string;
  readonly timestamp: string;
  readonly value: number;
}

/** The response to one query, on any route. */
export interface ProbeResponse {
  readonly panel: Panel;
  readonly route: "query" | "instant" | "bulk";
  readonly pod: string;
  /** Around the request, Unix milliseconds. */
  readonly sentMs: number;
  readonly receivedMs: number;
  /** 304 for a body that the probe had. */
  readonly status: number;
  /** Lowercase names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ResponseBody | undefined;
}

/** Body of a query or of an instant, read. */
export interface ResponseBody {
  readonly series: readonly ResponseSeries[];
  readonly grid: ResponseGrid;
  readonly schemaVersion: string;
  readonly partial: boolean;
  readonly regions: readonly { readonly region: string; readonly state: string }[];
}

interface WireBody {
  readonly data: readonly {
    readonly metric?: string;
    readonly metric_id?: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly points?: readonly (readonly [string, number])[];
    readonly timestamp?: string;
    readonly value?: number;
    readonly exemplars?: readonly ResponseExemplar[];
    readonly exemplar?: ResponseExemplar;
  }[];
  readonly meta: Readonly<Record<"from" | "to" | "ts" | "step" | "schema_version", string>> & {
    readonly partial: boolean;
    readonly regions: ResponseBody["regions"];
  };
}

/** Reads a body of `query` or `instant`; undefined for anything else. */
export function readBody(body: unknown): ResponseBody | undefined {
  const { data, meta } = body as Partial<WireBody>;
  if (data === undefined || meta === undefined) return undefined;
  const stepSeconds = secondsOf(meta.step);
  const toMs = Date.parse(meta.to ?? meta.ts);
  const fromMs = meta.from === undefined ? toMs - stepSeconds * 1_000 : Date.parse(meta.from);
  return {
    series: data.map(
      ({
        metric,
        metric_id: metricId,
        labels,
        points,
        timestamp,
        value,
        exemplar,
        exemplars = exemplar === undefined ? [] : [exemplar],
      }) => ({
        metric: metric ?? metricId ?? "",
        labels,
        points: new Map(
          points?.map(([time, own]) => [Date.parse(time), own]) ?? [[Date.parse(timestamp ?? ""), value ?? Number.NaN]],
        ),
        exemplars,
      }),
    ),
    grid: { fromMs, toMs, stepSeconds },
    schemaVersion: meta.schema_version,
    partial: meta.partial,
    regions: meta.regions,
  };
}

function secondsOf(step: string): number {
  return Number.parseInt(step, 10) * ({ s: 1, m: 60, h: 3_600, d: 86_400 }[step.at(-1) ?? ""] ?? Number.NaN);
}

/** Sources of the points of a response, by `X-Query-Cache`. */
export interface CacheWords {
  /** `answer`: one that was made before; `memory`: made now; `snapshot`, `off`. */
  readonly kind: string;
  readonly counts: Readonly<Record<string, number>>;
  /** One word for each point; undefined where the header says none. */
  readonly extents: readonly string[] | undefined;
}

/** Reads `memory;hit=3;miss=1;extents="memory*3 store*1"`. */
export function readCacheWords(header: string): CacheWords {
  const [kind = "", ...members] = header.split(";");
  const pairs = members.map((member) => member.split("=") as [string, string]);
  const reported = pairs.find(([name]) => name === "extents")?.[1].replaceAll('"', "");
  const counts = Object.fromEntries(
    pairs.filter(([name]) => name !== "extents").map(([name, text]) => [name, Number(text)]),
  );
  return {
    kind,
    counts,
    extents: reported === undefined ? undefined : reported.split(" ").filter(Boolean).flatMap(wordsOf),
  };
}

function wordsOf(extent: string): readonly string[] {
  const [word = "", count = "0"] = extent.split("*");
  return Array.from({ length: Number(count) }, () => word);
}

/** Seconds for which the caller may keep a response; undefined where it may not. */
export function maxAgeOf(headers: ProbeResponse["headers"]): number | undefined {
  const seconds = /max-age=(\d+)/u.exec(headers["cache-control"] ?? "")?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
