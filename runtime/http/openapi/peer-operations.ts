import { words } from "./json-schema.ts";
import type { Operation } from "./operation.ts";

/** `POST /v1/metrics/partials` */
export const partialsOperation: Operation = {
  id: "answerPartials",
  tag: "metrics",
  summary:
    "For runtimes of other regions: mergeable partials of this one's own stores. The token has to be bound to a " +
    "client certificate",
  bodySchema: "PartialQuestion",
  answers: {
    "200": {
      description: "The result; series as packed partials, everything else as JSON",
      schema: "PartialAnswer",
      alsoAs: ["application/vnd.heliograph.partials"],
      headers: {
        "X-Store-Warning": {
          description: "True when samples were dropped, or some store of the region is missing",
          schema: words(["none", "dropped", "incomplete"]),
        },
      },
    },
  },
};
