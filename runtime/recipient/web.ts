import { createEndpoints, joinBody, type EndpointOptions, type EndpointRequest } from "./endpoints.ts";

/** Handles a web `Request` with all endpoints of a recipient, for servers and frameworks that speak the Fetch API. */
export function createWebRecipient<Transaction>(
  options: EndpointOptions<Transaction>,
): (request: Request) => Promise<Response> {
  const endpoints = createEndpoints(options);
  return async (request) => {
    const { status, headers, body } = await endpoints(endpointRequest(request));
    return body === undefined ? new Response(null, { status, headers }) : Response.json(body, { status, headers });
  };
}

function endpointRequest(request: Request): EndpointRequest {
  const { method, headers } = request;
  const { host, pathname, search } = new URL(request.url);
  return {
    method,
    target: pathname + search,
    // Some schemes sign the authority, and a Request may lack its header.
    headers: { host, ...Object.fromEntries(headers) },
    readBody: () => readBody(request),
  };
}

async function readBody({ body, bodyUsed }: Request): Promise<Uint8Array> {
  if (bodyUsed)
    throw new Error("The body has been read, but its bytes are signed: pass the Request on before anything reads it");
  return body === null ? new Uint8Array() : await joinBody(body);
}
