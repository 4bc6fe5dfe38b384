import { hash } from "node:crypto";
import type { IncomingRequest } from "../webhooks/signing/verification-result.ts";
import { DeliveryRefusal, errorResponse, traceIdOf, type RecipientAnswer, type RecipientOptions } from "./receive.ts";
import type { OnceResult, SeenStore } from "./seen-store.ts";
import type { DeliveredEvent } from "./verify-delivery.ts";

/** A request to a REST API that a hook triggered. */
export interface CallbackRequest extends IncomingRequest {
  /** Who calls, as the API authenticated it. Keys of different callers never meet. */
  readonly caller: string;
}

/** The response of an effect; every later request with the same key gets it too. */
export interface CallbackAnswer {
  readonly status: number;
  /** JSON; absent for an empty body. */
  readonly body?: object;
}

type CallbackOptions<Transaction> = Pick<RecipientOptions<Transaction>, "store" | "handlerVersion">;

/** A stored response, with the digest of the body that it answers. */
interface Outcome extends CallbackAnswer {
  readonly digest: string;
}

const keyForm = /^[\x21-\x7e]{1,255}$/u;
const keyCharactersMax = 255;
const outcomeCharactersMax = 65_536;
const retrySeconds = 1;

/**
 * The `Idempotency-Key` of a callback that the handler of an event makes. The same event and purpose always have the
 * same key. Source: seed "Webhook Event Delivery" §5.5.
 * @param purpose distinguishes the callbacks of one event, for example `refund`
 * @throws RangeError when the key would not be 1 to 255 visible ASCII characters
 */
export function callbackKey({ event_id }: Pick<DeliveredEvent, "event_id">, purpose: string): string {
  const key = `${event_id}:${purpose}`;
  if (!keyForm.test(key))
    throw new RangeError(`"${key}" is no Idempotency-Key: it has 1 to ${keyCharactersMax} visible ASCII characters`);
  return key;
}

/**
 * Handles a request with an `Idempotency-Key`. The first request runs the effect and stores its answer in one
 * transaction; a repeat gets the stored response. An effect that throws leaves nothing, so that its key is free again.
 * Source: seed "Webhook Event Delivery" §5.5.
 * @throws whatever the store or the effect throws, except a {@link DeliveryRefusal}, which becomes the response
 */
export async function answerOnce<Transaction>(
  request: CallbackRequest,
  options: CallbackOptions<Transaction>,
  effect: (transaction: Transaction) => Promise<CallbackAnswer>,
): Promise<RecipientAnswer> {
  const traceId = traceIdOf(request);
  const headers = { "X-Trace-Id": traceId };
  try {
    const id = recordId(request);
    const digest = hash("sha256", request.body, "hex");
    const stored = await storedResponse(options.store, id, digest);
    if (stored !== undefined) return repeated(stored, headers);
    const { result, response } = await runOnce(options, id, digest, effect);
    if (response !== undefined && result === "processed") return { ...response, headers };
    // Another copy has finished between the look-up and the claim.
    const other = result === "seen" ? await storedResponse(options.store, id, digest) : undefined;
    if (other === undefined) throw result === "full" ? full() : inUse();
    return repeated(other, headers);
  } catch (error) {
    if (error instanceof DeliveryRefusal) return errorResponse(error, traceId);
    throw error;
  }
}

/** The record's name for a key. A digest, so that no caller can choose the name of another one's record. */
function recordId({ caller, method, target, headers }: CallbackRequest): string {
  const { "idempotency-key": key } = headers;
  if (typeof key !== "string" || !keyForm.test(key)) {
    const rule = `The header Idempotency-Key must have 1 to ${keyCharactersMax} visible ASCII characters`;
    throw new DeliveryRefusal(400, "idempotency_key_invalid", rule);
  }
  return `callback:${hash("sha256", JSON.stringify([caller, method, target, key]), "hex")}`;
}

async function storedResponse<Transaction>(
  store: SeenStore<Transaction>,
  id: string,
  digest: string,
): Promise<CallbackAnswer | undefined> {
  const record = await store.find(id);
  if (record?.status !== "ok") return undefined;
  if (record.outcome === undefined) throw new Error("the store keeps no outcomes, which an Idempotency-Key needs");
  const { digest: known, ...response } = JSON.parse(record.outcome) as Outcome;
  if (known === digest) return response;
  const rule = "The key was used with a different body. Use a new key for this body";
  throw new DeliveryRefusal(422, "idempotency_key_reused", rule);
}

async function runOnce<Transaction>(
  { store, handlerVersion }: CallbackOptions<Transaction>,
  id: string,
  digest: string,
  effect: (transaction: Transaction) => Promise<CallbackAnswer>,
): Promise<{ readonly result: OnceResult; readonly response: CallbackAnswer | undefined }> {
  let response: CallbackAnswer | undefined;
  const result = await store.once(id, handlerVersion, async (transaction) => {
    response = await effect(transaction);
    return outcomeText({ digest, ...response });
  });
  return { result, response };
}

function outcomeText(outcome: Outcome): string {
  const text = JSON.stringify(outcome);
  if (text.length <= outcomeCharactersMax) return text;
  throw new RangeError(`the response to a callback has ${text.length} characters, more than ${outcomeCharactersMax}`);
}

function repeated(response: CallbackAnswer, headers: RecipientAnswer["headers"]): RecipientAnswer {
  return { ...response, headers: { ...headers, "Idempotency-Replayed": "true" } };
}

function inUse(): DeliveryRefusal {
  const rule = "The first request with this key is still in progress";
  return new DeliveryRefusal(409, "idempotency_key_in_use", rule, retrySeconds);
}

function full(): DeliveryRefusal {
  return new DeliveryRefusal(503, "store_full", "The store of outcomes is full", retrySeconds);
}
