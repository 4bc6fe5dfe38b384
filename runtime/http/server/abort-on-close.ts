import type { FastifyReply } from "fastify";
import { Refusal } from "../../errors/refusal.ts";

/**
 * Runs the work for a request. Its signal is aborted when the caller disconnects before the response, or when the
 * response takes too long. Fastify's own signal is also aborted when a body was read to its end, and costs time on
 * every request.
 * @throws Refusal `answer_timeout`; errors of the work
 */
export async function abortOnClose<Answer>(
  reply: FastifyReply,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const ending = new AbortController();
  const hungUp = (): void => {
    if (!reply.raw.writableFinished) ending.abort();
  };
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const refusal = new Refusal("answer_timeout", "The response took too long. The outcome is unknown.");
    late.reject(refusal);
    ending.abort(refusal);
  }, timeoutMs);
  reply.raw.once("close", hungUp);
  try {
    return await Promise.race([work(ending.signal), late.promise]);
  } finally {
    clearTimeout(timer);
    reply.raw.off("close", hungUp);
  }
}
