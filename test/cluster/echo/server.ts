import { createServer } from "node:http";
import { hostname } from "node:os";

/** Answers with the name of its pod, so that a client sees which one it reached. */
const server = createServer((request, response) => {
  console.log(`${request.method ?? ""} ${request.url ?? ""}`);
  response.end(hostname());
});
server.listen(8080, () => console.log("listening"));
process.on("SIGTERM", () => process.exit(0));
