import { traceparentOf } from "../tracing/trace-context.ts";
import type { StartedSpan } from "../tracing/tracer.ts";
import { aroundReads, type AroundRead } from "./read-middleware.ts";
import { StoreError } from "./store-error.ts";
import type { Stores } from "./store-set.ts";

/** Puts a span below `parent` around every read, and names it to the store. @param parent undefined: no spans */
export function tracedReads(stores: Stores, parent: StartedSpan | undefined): Stores {
  return parent?.context.isSampled === true ? aroundReads(stores, around(stores, parent)) : stores;
}

function around(stores: Stores, parent: StartedSpan): AroundRead {
  return async (read, send, own) => {
    const span = parent.child("store", "client");
    const { region } = stores.get(read.store).config;
    const attributes = { "heliograph.store": read.store, "heliograph.region": region, "heliograph.api": read.api };
    try {
      const result = await send({ ...own, traceparent: traceparentOf(span.context) });
      span.end(attributes);
      return result;
    } catch (error) {
      span.end(attributes, error instanceof StoreError ? error.kind : "aborted");
      throw error;
    }
  };
}
