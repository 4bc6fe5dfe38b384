import { resolveTool } from "../../tools/resolve.ts";
import { freePort } from "../../support/free-port.ts";
import { startServerProcess } from "../../support/server-process.ts";

/** A span as a collector has it. Numbers of the kinds are those of OTLP. */
export interface TakenSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number; readonly message?: string };
  /** Attributes of the span, and of the program that made it. */
  readonly attributes: Readonly<Record<string, string>>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, string>>;
}

type OtlpSpan = Omit<TakenSpan, "attributes"> & { readonly attributes?: readonly Attribute[] };

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

/** The OTLP receiver of the OpenTelemetry Collector. */
export interface OtlpReceiver {
  readonly url: string;
  /** The spans that it took so far. */
  spans(): readonly TakenSpan[];
  stop(): Promise<void>;
}

const readyMsMax = 2_000;

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const server = await startServerProcess({
    name: "otlp-receiver",
    command: await resolveTool("otlp-receiver"),
    args: [address],
    ready: async () => (await fetch(url, { signal: AbortSignal.timeout(readyMsMax) })).status === 404,
  });
  return {
    url,
    spans: () => {
      const lines = server.log().split("\n");
      return lines.filter((line) => line.startsWith('{"resourceSpans"')).flatMap(spansOf);
    },
    stop: () => server.stop(),
  };
}

function spansOf(line: string): readonly TakenSpan[] {
  const { resourceSpans } = JSON.parse(line) as OtlpRequest;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: Object.fromEntries(
          [...resource.attributes, ...(span.attributes ?? [])].map(({ key, value }) => [
            key,
            String(Object.values(value)[0]),
          ]),
        ),
      })),
    ),
  );
}
