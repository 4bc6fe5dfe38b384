import { Refusal } from "../../errors/refusal.ts";
import type { NatsConnectionHandle } from "../../nats/connection/connect.ts";
import { serveSubject, type SubjectMessage } from "../../nats/messages/serve-subject.ts";
import type { Layout } from "../../nats/layout.ts";
import type { Log } from "../log.ts";
import type { Ingest, IngestResponse } from "./ingest.ts";
import { ingestBatch, isBatch, splitBatch } from "./ingest-batch.ts";

interface IngestSubjectDeps {
  readonly nats: NatsConnectionHandle;
  readonly layout: Layout;
  readonly ingest: Ingest;
  readonly log: Log;
}

/** All pods share this queue group. */
const queueGroup = "ingest";

/**
 * Takes events on `hg.in.<tenant>`: the same checks and the same answers as `POST /events`, and who may publish for a
 * tenant is up to the permissions of NATS. The answer comes after the event is stored. A message that asks for none is
 * taken all the same; what is refused then is only logged.
 *
 * @returns how to stop
 */
export function serveIngestSubject(deps: IngestSubjectDeps): () => Promise<void> {
  return serveSubject(deps.nats, deps.layout.ingestSubject, queueGroup, (message) => {
    void answerTo(deps, message)
      .then((body) => message.answer(body))
      .catch((error: unknown) =>
        deps.log.error({ err: error, tenant: message.token }, "no answer to an event on NATS"),
      );
  });
}

async function answerTo(
  { ingest, log }: IngestSubjectDeps,
  { token, data, isRequest }: SubjectMessage,
): Promise<object> {
  const caller = { tenants: [token] };
  try {
    if (!isBatch(data)) {
      return accepted(await ingest(data, caller));
    }
    const results = await ingestBatch(ingest, splitBatch(data), caller);
    return {
      results: results.map((result) => ("answer" in result ? accepted(result.answer) : refused(result.refusal))),
    };
  } catch (error) {
    const refusal =
      error instanceof Refusal ? error : new Refusal("internal", "The event could not be taken", { cause: error });
    if (!isRequest) {
      log.warn(
        { err: refusal, code: refusal.code, tenant: token },
        "an event on NATS is refused, and nobody waits to hear it",
      );
    }
    return refused(refusal);
  }
}

function accepted({ eventId, tenant, duplicate }: IngestResponse): object {
  return { status: 202, event_id: eventId, tenant, duplicate };
}

function refused({ status, code, message, errors, retryAfterSeconds }: Refusal): object {
  const wait = retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds };
  return { status, error: { code, detail: message, errors, ...wait } };
}
