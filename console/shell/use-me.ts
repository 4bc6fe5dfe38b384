import type { Me } from "../../api/documents.ts";
import { useEffect, useState } from "preact/hooks";
import type { ApiClient } from "../api/client.ts";
import { isAbort } from "../api/problem.ts";

/** Longer than a healthy server needs. Pages that wait for more would be worse than pages that lack the rights. */
const meMsMax = 2_000;

interface KnownMe {
  /** Undefined while they are read, and if they cannot be read: each part then shows what is rejected. */
  readonly me: Me | undefined;
  /** False until the rights are known or late. A page that was shown earlier would lose parts, and move. */
  readonly isReady: boolean;
}

/** Reads the rights of the token. */
export function useMe(api: ApiClient): KnownMe {
  const [known, setKnown] = useState<KnownMe>({ me: undefined, isReady: false });
  useEffect(() => {
    const abort = new AbortController();
    const late = setTimeout(() => setKnown((before) => ({ ...before, isReady: true })), meMsMax);
    api
      .read<Me>("/v1/me", abort.signal)
      .then(
        ({ body }) => setKnown({ me: body, isReady: true }),
        (error: unknown) => {
          if (!isAbort(error)) setKnown({ me: undefined, isReady: true });
        },
      )
      .finally(() => clearTimeout(late));
    return () => {
      clearTimeout(late);
      abort.abort();
    };
  }, [api]);
  return known;
}
