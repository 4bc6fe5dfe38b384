import { ApiError, invalidField } from "../../errors/api-error.ts";
import type { Caller } from "../../metrics/authorization/access.ts";
import { isNarrowed } from "../../webhooks/history/history-view.ts";
import type { IdempotencyKeys } from "../../webhooks/ingest/idempotency-keys.ts";
import type { ApiRequest, ApiResponse, Route } from "../server/route.ts";

const keyForm = /^[\x21-\x7e]{1,255}$/u;
const retryAfterSeconds = 1;
const partlyDone = 207;

/**
 * The route with support of `Idempotency-Key`. The same path, key and body of one caller have the same outcome for a
 * day, and run once. A rejected request had no effect, so its key may be used again.
 *
 * @param contentOf the bytes that must be the same. @default the body
 * @throws ApiError `idempotency_key_reused` for another body, `idempotency_key_in_use` while the first request runs
 */
export function idempotent(
  keys: IdempotencyKeys,
  route: Route,
  contentOf: (request: ApiRequest) => Uint8Array = ({ body }) => body,
): Route {
  return { ...route, handle: (request) => handleOnce(keys, route, request, contentOf(request)) };
}

async function handleOnce(
  keys: IdempotencyKeys,
  route: Route,
  request: ApiRequest,
  content: Uint8Array,
): Promise<ApiResponse> {
  const { idempotencyKey, caller, path } = request;
  if (idempotencyKey === undefined) return route.handle(request);
  if (!keyForm.test(idempotencyKey)) {
    throw invalidField(
      "invalid_request",
      "Idempotency-Key",
      "Idempotency-Key must be 1 to 255 visible ASCII characters",
    );
  }
  const target = [route.path, ...Object.values(path).map(encodeURIComponent)].join(" ");
  const key = [caller.client, route.method, target, idempotencyKey, ...narrowingOf(caller)].join("\n");
  const claim = await orUnavailable(() => keys.claim(key, content));
  switch (claim.kind) {
    case "first":
      return await firstResponse(keys, { key, content }, route, request);
    case "known":
      return { ...claim.answer, headers: { "idempotency-replayed": "true" } };
    case "running":
      throw new ApiError("idempotency_key_in_use", "The first request with this key is still in progress.", {
        retryAfterSeconds,
      });
    case "other":
      throw new ApiError(
        "idempotency_key_reused",
        "The key was used with a different body. Use a new key for this body.",
      );
  }
}

/** Part of the key for a narrowed caller: a response to another token may name partners that this one may not see. */
function narrowingOf(caller: Caller): readonly string[] {
  return isNarrowed(caller) ? [caller.partners.toSorted().join(" ")] : [];
}

async function firstResponse(
  keys: IdempotencyKeys,
  { key, content }: { readonly key: string; readonly content: Uint8Array },
  route: Route,
  request: ApiRequest,
): Promise<ApiResponse> {
  let response: ApiResponse;
  try {
    response = await route.handle(request);
  } catch (error) {
    // When the release fails too, the key state expires.
    await keys.release(key).catch(() => undefined);
    throw error;
  }
  const { status, body } = response;
  // A repetition may store the rest of the batch. The stored events are duplicates then.
  if (status === partlyDone) await keys.release(key).catch(() => undefined);
  else await orUnavailable(() => keys.keep(key, content, { status, body }));
  return response;
}

async function orUnavailable<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (cause) {
    throw new ApiError("events_unavailable", "The result of the request cannot be stored at the moment", {
      cause,
      retryAfterSeconds,
    });
  }
}
