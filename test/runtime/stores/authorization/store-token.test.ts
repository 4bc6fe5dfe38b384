import { rootCertificates } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import type { QueriedStoreConfig } from "../../../../crds/config.ts";
import type { StoreOAuth2Config } from "../../../../crds/store-credentials.ts";
import { createRenewed } from "../../../../runtime/stores/authorization/renewed.ts";
import { tlsOfIssuer } from "../../../../runtime/stores/authorization/store-token.ts";
import { createStoreSet } from "../../../../runtime/stores/store.ts";
import { StoreError } from "../../../../runtime/stores/store-error.ts";
import { clientSecret, startAuthorizationServer } from "../../../support/authorization-server.ts";
import { storeConfig } from "../../metrics/oracle/universe.ts";
import {
  json,
  type ScriptedStore,
  startScriptedStore,
  type StoreReply,
  success,
  text,
  vector,
} from "../scripted-store.ts";
import { storeCall } from "../store-call.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function serve(reply: StoreReply): Promise<ScriptedStore> {
  const server = await startScriptedStore(reply);
  closing.push(() => server.close());
  return server;
}

/** A token server that counts its tokens: t1, t2, … */
function tokenServer(times: object = { expires_in: 3_600 }): Promise<ScriptedStore> {
  let count = 0;
  return serve((response, request) => {
    count += 1;
    json(200, { access_token: `t${count}`, token_type: "Bearer", ...times })(response, request);
  });
}

const base64 = (value: string): string => Buffer.from(value).toString("base64");

interface Options {
  readonly oauth2?: Partial<StoreOAuth2Config>;
  readonly timeoutMs?: number;
}

/** A set with one store. Every configuration after the first one replaces it. */
function setOf(url: string, tokenUrl: string, { oauth2 = {}, timeoutMs = 2_000 }: Options = {}) {
  const set = createStoreSet(Date.now, () => {
    throw new Error("no peer");
  });
  closing.push(() => set.stop());
  const apply = (secret: string): void => {
    const config: QueriedStoreConfig = {
      ...storeConfig({ name: "eu", region: "eu", url }),
      peer: undefined,
      prometheus: {
        url,
        timeoutMs,
        flavour: "Prometheus",
        headers: {},
        auth: { kind: "oauth2", tokenUrl, clientId: "reader", secret: "id", ...oauth2 },
      },
    };
    set.apply(new Map([["eu", config]]), { id: base64(secret) });
  };
  apply("s3cret");
  const read = (signal = new AbortController().signal) => {
    const store = set.get("eu");
    return store.run(() => store.client.single("up", 0, storeCall({ signal })));
  };
  return { apply, read, store: () => set.get("eu") };
}

const value = success(vector("1"));
const authorizations = ({ requests }: ScriptedStore) => requests.map(({ headers }) => headers.authorization);

describe("a store with client credentials", () => {
  test("gets a token of a real authorization server, fetched once for concurrent reads", async () => {
    const id = await startAuthorizationServer("ES256");
    const seen = await serve(value);
    const set = createStoreSet(Date.now, () => {
      throw new Error("no peer");
    });
    closing.push(
      () => id.close(),
      () => set.stop(),
    );
    const auth = { kind: "oauth2", tokenUrl: id.tokenUrl, clientId: "plain", secret: "id" } as const;
    const config = {
      ...storeConfig({ name: "eu", region: "eu", url: seen.url }),
      peer: undefined,
      prometheus: {
        url: seen.url,
        timeoutMs: 5_000,
        flavour: "Prometheus",
        headers: {},
        auth: { ...auth, scopes: ["metrics:read"], resource: "https://api.example" },
        tls: { ca: "ca" },
      },
    } satisfies QueriedStoreConfig;
    set.apply(new Map([["eu", config]]), { id: base64(clientSecret), ca: base64(id.ca) });
    const store = set.get("eu");
    await Promise.all(Array.from({ length: 20 }, () => store.client.single("up", 0, storeCall())));
    expect(id.requests).toEqual(["/token"]);
    const [claims] = authorizations(seen).map((one = "") => one.split(".")[1] ?? "");
    expect(JSON.parse(Buffer.from(claims ?? "", "base64url").toString())).toMatchObject({
      scope: "metrics:read",
      aud: "https://api.example",
    });
    expect(new Set(authorizations(seen)).size).toBe(1);
  });

  test("requests scopes and an audience, and encodes the credentials in the header", async () => {
    const [tokens, seen] = [await tokenServer(), await serve(value)];
    const oauth2 = { scopes: ["metrics:read", "x"], audience: "https://store.example/", clientId: "a:b" };
    const { apply, read } = setOf(seen.url, `${tokens.url}/token?p=1`, { oauth2 });
    apply("pä ss");
    await read();
    const [request] = tokens.requests;
    expect(request?.path).toBe("/token?p=1");
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      grant_type: "client_credentials",
      scope: "metrics:read x",
      audience: "https://store.example/",
    });
    expect(request?.headers.authorization).toBe(`Basic ${base64("a%3Ab:p%C3%A4+ss")}`);
    expect(authorizations(seen)).toEqual(["Bearer t1"]);
  });

  test("replaces a token that the store rejects, once per read", async () => {
    const tokens = await tokenServer();
    let rejected = "Bearer t1";
    const seen = await serve((response, request) =>
      (request.headers.authorization === rejected ? text(401, "expired") : value)(response, request),
    );
    const { read, store } = setOf(seen.url, tokens.url);
    expect(await read()).toBe(1);
    expect(authorizations(seen)).toEqual(["Bearer t1", "Bearer t2"]);
    const always = await serve(text(401, "no"));
    const other = setOf(always.url, tokens.url);
    rejected = "";
    await expect(other.read()).rejects.toMatchObject({ kind: "status", message: "HTTP 401: no" });
    expect(authorizations(always)).toEqual(["Bearer t3", "Bearer t4"]);
    expect([store().state(), other.store().state()]).toEqual(["ok", "failing"]);
  });

  test("sends the credentials in the form to a server that rejects the header, and only so afterwards", async () => {
    let count = 0;
    const tokens = await serve((response, request) => {
      count += 1;
      const isForm = request.form.get("client_secret") === "s3cret" && request.form.get("client_id") === "reader";
      (isForm ? json(200, { access_token: `t${count}` }) : json(401, { error: "invalid_client" }))(response, request);
    });
    const seen = await serve((response, request) =>
      (request.headers.authorization === "Bearer t2" ? text(401, "") : value)(response, request),
    );
    await setOf(seen.url, tokens.url).read();
    expect(authorizations(tokens).map((one) => one !== undefined)).toEqual([true, false, false]);
  });

  test("uses the new secret after a rotation", async () => {
    const [tokens, seen] = [await tokenServer(), await serve(value)];
    const { apply, read } = setOf(seen.url, tokens.url);
    await read();
    apply("rotated");
    await read();
    expect(authorizations(tokens)).toEqual(["s3cret", "rotated"].map((one) => `Basic ${base64(`reader:${one}`)}`));
    expect(authorizations(seen)).toEqual(["Bearer t1", "Bearer t2"]);
  });

  const large = JSON.stringify({ access_token: "t", filler: "f".repeat(70_000) });
  test.each<readonly [what: string, reply: StoreReply, error: object]>([
    [
      "rejects the client",
      json(401, { error: "invalid_client", error_description: "s3cret is wrong" }),
      { kind: "status", message: "HTTP 401 invalid_client" },
    ],
    ["is overloaded", text(503, "busy s3cret"), { kind: "status", message: "HTTP 503" }],
    ["redirects", (response) => void response.writeHead(302, { location: "/x" }).end(), { message: "HTTP 302" }],
    ["returns HTML", text(200, "<html>"), { kind: "malformed", message: "the response has no valid access token" }],
    ["returns too much", text(200, large), { kind: "malformed" }],
  ])(
    "reports a token server that %s, without a secret",
    async (_what, reply, { message = "", ...error }: { message?: string }) => {
      const [tokens, seen] = [await serve(reply), await serve(value)];
      const { read, store } = setOf(seen.url, tokens.url);
      const caught = await read().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(caught).toBeInstanceOf(StoreError);
      expect(caught).toMatchObject(error);
      expect(String(caught)).toContain(`no access token from ${tokens.url}: ${message}`);
      expect(String(caught)).not.toContain("s3cret");
      expect(seen.requests).toEqual([]);
      expect(store().state()).toBe("failing");
    },
  );

  test("sends a rejecting token server no further request for a moment", async () => {
    const [tokens, seen] = [await serve(json(403, {})), await serve(value)];
    const { read } = setOf(seen.url, tokens.url);
    for (let reads = 0; reads < 4; reads += 1) await expect(read()).rejects.toMatchObject({ kind: "status" });
    expect(tokens.requests.length).toBe(1);
  });

  test("waits for a silent token server no longer than the read, and other stores do not wait", async () => {
    const [tokens, seen] = [await serve(() => undefined), await serve(value)];
    const { read } = setOf(seen.url, tokens.url, { timeoutMs: 30_000 });
    const late = new StoreError("late", "no response in 100 ms");
    const controller = new AbortController();
    const slow = read(controller.signal);
    expect(await setOf(seen.url, (await tokenServer()).url).read()).toBe(1);
    controller.abort(late);
    await expect(slow).rejects.toBe(late);
    const { message } = (await setOf(seen.url, tokens.url, { timeoutMs: 50 })
      .read()
      .catch((error: Error) => error)) as Error;
    expect(message).toMatch(`no access token from ${tokens.url}: `);
  });

  test("trusts the certificates of the store and of the runtime at the token server", () => {
    const { ca, ...rest } = tlsOfIssuer({ ca: Buffer.from("own"), servername: "store" });
    expect(rest).toEqual({});
    expect(ca?.toString().startsWith("own\n")).toBe(true);
    expect(ca?.toString()).toContain(rootCertificates[0]);
    expect(tlsOfIssuer({ servername: "store" })).toEqual({});
  });
});

describe("a credential", () => {
  test("is renewed before its end without a wait, and used until then if the renewal fails", async () => {
    let nowMs = 0;
    let count = 0;
    let fails = false;
    const renewed = createRenewed(
      async () => {
        count += 1;
        await Promise.resolve();
        if (fails) throw new StoreError("status", "no");
        return { value: `v${count}`, renewMs: 70, endMs: 95 };
      },
      () => nowMs,
    );
    const { signal } = new AbortController();
    const at = async (ms: number): Promise<string> => {
      nowMs = ms;
      const got = await renewed.get(signal);
      for (let turns = 0; turns < 9; turns += 1) await Promise.resolve();
      return got;
    };
    expect([await at(0), await at(69), await at(70), await at(71)]).toEqual(["v1", "v1", "v1", "v2"]);
    fails = true;
    expect([await at(70 + 70), await at(70 + 94)]).toEqual(["v2", "v2"]);
    await expect(at(70 + 95)).rejects.toMatchObject({ message: "no" });
    expect(count).toBe(3);
    fails = false;
    expect(await at(70 + 70 + 1_000)).toBe("v4");
    renewed.drop((one) => one === "v2");
    expect(await at(70 + 70 + 1_001)).toBe("v4");
    renewed.drop((one) => one === "v4");
    expect(await at(70 + 70 + 1_002)).toBe("v5");
  });
});
