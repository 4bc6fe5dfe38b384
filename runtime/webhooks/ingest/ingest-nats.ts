import { ApiError } from "../../errors/api-error.ts";
import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import { serveSubject, type SubjectMessage } from "../../nats/messages/pod-messages.ts";
import type { Layout } from "../../nats/layout.ts";
import type { Log } from "../log.ts";
import { cloudEventSource, isBinaryMode, type HeaderValues } from "./cloud-event-source.ts";
import type { EventSource, Ingest, IngestResponse } from "./ingest.ts";
import { ingestBatch, isSourceList, nativeSource } from "./ingest-batch.ts";

interface IngestSubjectDeps {
  readonly nats: NatsConnectionHandle;
  readonly layout: Layout;
  readonly ingest: Ingest;
  readonly log: Log;
}

/** All pods share this queue group. */
const queueGroup = "ingest";

/**
 * Accepts events on `hg.in.<tenant>`, with the checks and results of `POST /events`. Permissions of NATS decide which
 * client may publish for a tenant. The response follows after the event is stored. The rejection of a message without a
 * reply subject is only logged.
 *
 * @returns a function that ends the subscription
 */
export function serveIngestSubject(deps: IngestSubjectDeps): () => Promise<void> {
  return serveSubject(deps.nats, deps.layout.ingestSubject, queueGroup, (message) => {
    void respondTo(deps, message)
      .then((body) => message.respond(body))
      .catch((error: unknown) =>
        deps.log.error({ err: error, tenant: message.token }, "response to an event on NATS not sent"),
      );
  });
}

async function respondTo(
  { ingest, log }: IngestSubjectDeps,
  { token, data, headers, isRequest, traceparent }: SubjectMessage,
): Promise<object> {
  const caller = { tenants: [token], traceparent };
  try {
    const source = sourceOf(data, headers(), token);
    if (!isSourceList(source)) return accepted(await ingest(source, caller));
    const results = await ingestBatch(ingest, source, caller);
    return {
      results: results.map((result) => ("response" in result ? accepted(result.response) : rejected(result.error))),
    };
  } catch (error) {
    const apiError =
      error instanceof ApiError
        ? error
        : new ApiError("internal", "Internal error, the event was not stored; send it again with the same id", {
            cause: error,
          });
    if (!isRequest)
      log.warn({ err: apiError, code: apiError.code, tenant: token }, "event on NATS without a reply subject rejected");
    return rejected(apiError);
  }
}

/**
 * Other media types than those of CloudEvents say nothing about the body. In binary mode the binding names the media
 * type `ce-datacontenttype`, and an official SDK `Content-Type`. Source: CloudEvents NATS binding §3.
 */
function sourceOf(data: Uint8Array, given: HeaderValues, tenant: string): EventSource | readonly EventSource[] {
  const { "ce-datacontenttype": contentType, ...rest } = given;
  const headers = contentType === undefined ? rest : { "content-type": contentType, ...rest };
  const [mediaType = ""] = headers["content-type"] ?? [];
  const isCloudEvent = isBinaryMode(headers) || /^\s*application\/cloudevents/iu.test(mediaType);
  const source = isCloudEvent ? cloudEventSource({ headers, body: data, tenants: [tenant] }) : undefined;
  return source ?? nativeSource(data);
}

function accepted({ eventId, tenant, duplicate }: IngestResponse): object {
  return { status: 202, event_id: eventId, tenant, duplicate };
}

function rejected({ status, code, message, errors, retryAfterSeconds }: ApiError): object {
  const wait = retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds };
  return { status, error: { code, detail: message, errors, ...wait } };
}
