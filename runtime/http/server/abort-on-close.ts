import type { FastifyReply } from "fastify";
import { Refusal } from "../../errors/refusal.ts";

/**
 * Runs the work for a request. Fastify's own signal is aborted as soon as a body has been read to its end, for every
 * request at a cost; here the signal is aborted only when the caller hangs up before the answer, or the answer takes
 * too long.
 *
 * @throws Refusal `answer_timeout`; what the work throws
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
    const refusal = new Refusal("answer_timeout", "The answer took too long; nothing is known of its outcome.");
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
