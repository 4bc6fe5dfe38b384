import type { ServerResponse } from "node:http";
import {
  frames,
  list,
  startScriptedApi,
  type Reply,
  type ScriptedApi,
  type ScriptedRequest,
} from "../../support/scripted-api.ts";
import type { AppliedShard } from "./shard-secrets.ts";

/** An API server that holds Secrets and nothing else, and can be made to misbehave request by request. */
export interface ScriptedSecrets {
  readonly api: ScriptedApi;
  /** Writes a Secret; watches of its name are told. */
  put(secret: AppliedShard): void;
  remove(name: string): void;
  /** Ends every watch, as a server does that restarts. */
  endWatches(): void;
  /** From now on nobody is answered; null ends that. */
  outage(reply: Reply | null): void;
}

interface Stored {
  readonly secret: AppliedShard;
  readonly version: number;
}

/** Starts it, empty. */
export async function startScriptedSecrets(): Promise<ScriptedSecrets> {
  const api = await startScriptedApi();
  const stored = new Map<string, Stored>();
  const watches = new Set<{ readonly name: string; readonly response: ServerResponse }>();
  const history: { readonly name: string; readonly version: number; readonly frame: object }[] = [];
  let version = 10;
  let failing: Reply | null = null;
  const object = ({ secret, version: at }: Stored) => ({
    ...secret,
    metadata: { ...secret.metadata, resourceVersion: String(at) },
  });
  const tell = (name: string, type: string, what: Stored): void => {
    const frame = { type, object: object(what) };
    history.push({ name, version: what.version, frame });
    for (const watch of watches) if (watch.name === name) watch.response.write(`${JSON.stringify(frame)}\n`);
  };
  const nameOf = ({ query }: ScriptedRequest) => (query.get("fieldSelector") ?? "").replace("metadata.name=", "");
  api.always("GET", async (response, request) => {
    const found = stored.get(nameOf(request));
    await (failing ?? list(String(version), found === undefined ? [] : [object(found)]))(response, request);
  });
  api.always("WATCH", async (response, request) => {
    if (failing !== null) return failing(response, request);
    const [name, from] = [nameOf(request), Number(request.query.get("resourceVersion"))];
    const missed = history.filter((event) => event.name === name && event.version > from).map(({ frame }) => frame);
    await frames(missed as Parameters<typeof frames>[0])(response, request);
    const watch = { name, response };
    watches.add(watch);
    response.on("close", () => watches.delete(watch));
  });
  return {
    api,
    put: (secret) => {
      version += 1;
      const { name } = secret.metadata;
      const type = stored.has(name) ? "MODIFIED" : "ADDED";
      const now = { secret, version };
      stored.set(name, now);
      tell(name, type, now);
    },
    remove: (name) => {
      version += 1;
      const found = stored.get(name);
      stored.delete(name);
      if (found !== undefined) tell(name, "DELETED", { ...found, version });
    },
    endWatches: () => {
      for (const watch of watches) {
        watches.delete(watch);
        watch.response.end();
      }
    },
    outage: (reply) => {
      failing = reply;
      if (reply !== null) for (const { response } of watches) response.socket?.resetAndDestroy();
    },
  };
}
