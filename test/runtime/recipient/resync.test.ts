import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { deltaAfter, resync } from "../../../runtime/recipient/resync.ts";
import { listenOnLoopback } from "../../support/loopback.ts";

test("names the status of a refusal by a proxy, whose body is a page, and does not repeat the request", async () => {
  let requests = 0;
  const proxy = createServer((request, response) => {
    requests += 1;
    request.resume();
    response.writeHead(403, { "content-type": "text/html" }).end("<h1>Forbidden</h1>");
  });
  const server = await listenOnLoopback(proxy);
  onTestFinished(() => server.close());
  const options = { url: `http://127.0.0.1:${server.port}`, token: () => "token", pollMs: 1 };
  await expect(resync(deltaAfter("evt_1"), options)).rejects.toMatchObject({
    name: "ResyncError",
    message: "The sender responded with 403 (no code): The response contains no reason.",
    status: 403,
  });
  expect(requests).toBe(1);
});
