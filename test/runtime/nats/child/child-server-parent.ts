import { startChildServer } from "../../../../runtime/nats/child/child-server.ts";
import { memoryLog } from "../../webhooks/engine-fixture.ts";

/** A process that starts a child server in the folder it is given, tells its id and waits to be killed. */
const [dataFolder = ""] = process.argv.slice(2);
const { pid } = await startChildServer({ dataFolder, log: memoryLog().log });
process.send?.({ pid });
setInterval(() => undefined, 60_000);
