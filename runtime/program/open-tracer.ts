import type { Registry } from "prom-client";
import { OtlpExporter } from "../tracing/otlp-exporter.ts";
import { createTracer, type Tracer } from "../tracing/tracer.ts";
import { version } from "../version.ts";
import type { ProgramOptions } from "./program-plan.ts";
import type { Shutdown } from "./shutdown.ts";

/** Starts the export of spans. It stops after all parts that make spans. Undefined when tracing is off. */
export function openTracer(
  { tracing, log }: Pick<ProgramOptions, "tracing" | "log">,
  instance: string,
  registry: Registry,
  shutdown: Shutdown,
): Tracer | undefined {
  if (tracing === undefined) return undefined;
  const { endpoint, ratio, service } = tracing;
  const exporter = new OtlpExporter({ endpoint, source: { service, instance, version }, registry, log });
  shutdown.add("span exporter", (remainingMs) => exporter.stop(remainingMs));
  return createTracer(ratio, (span) => exporter.add(span));
}
