import { createByteBudget } from "../../../runtime/stores/limits/fan-out.ts";
import type { StoreCall } from "../../../runtime/stores/prometheus/store-http.ts";

/** A call of nobody in particular, who never leaves. */
export function storeCall(changes: Partial<StoreCall> = {}): StoreCall {
  return { signal: new AbortController().signal, tenant: undefined, bytes: createByteBudget(), ...changes };
}
