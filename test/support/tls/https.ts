import { request } from "node:https";

/** One request over TLS. */
export interface HttpsRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Authority of the server, PEM. */
  readonly ca: string;
  /** Client certificate and its key, PEM. @default none is shown */
  readonly client?: { readonly cert: string; readonly key: string };
}

export interface HttpsAnswer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Of the JSON; empty when there is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Asks a server on this machine that serves as `localhost`, over a connection of its own. */
export async function askHttps(
  url: string,
  { method = "GET", headers = {}, body, ca, client }: HttpsRequest,
): Promise<HttpsAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpsAnswer>();
  const shown = client === undefined ? {} : { cert: client.cert, key: client.key };
  const sent = request(url, { method, headers, ca, agent: false, servername: "localhost", ...shown });
  sent.on("error", reject).on("response", (response) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      resolve({
        status: response.statusCode,
        headers: response.headers,
        body: (text === "" ? {} : JSON.parse(text)) as Readonly<Record<string, unknown>>,
      });
    });
  });
  sent.end(body);
  return promise;
}
