import { ApiError } from "../../errors/api-error.ts";
import type { Route } from "../server/route.ts";

/** The route for tokens with a claim of partners only. */
export function requirePartners(route: Route): Route {
  return {
    ...route,
    handle: async (request) => {
      if (request.caller.partners !== undefined) return route.handle(request);
      throw new ApiError("partners_required", "The token has no partners claim. Use * in the claim for all partners.");
    },
  };
}
