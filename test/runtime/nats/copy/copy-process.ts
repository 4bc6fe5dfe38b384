// Copies streams as a process of its own, and sends itself a signal before the n-th request that matches:
// copy-process.ts FROM TO REPLICAS PATTERN N [SIGNAL]
import { connectNats, type NatsConnectionHandle } from "../../../../runtime/nats/connection/connect.ts";
import { copyStreams } from "../../../../runtime/nats/copy/copy-streams.ts";

const [, , source = "", target = "", replicas = "1", pattern = "", count = "0", signal = "SIGKILL"] = process.argv;
const isSignal = new RegExp(pattern, "u");
let left = count === "0" ? Number.POSITIVE_INFINITY : Number(count);

function dying(handle: NatsConnectionHandle): NatsConnectionHandle {
  const { requests } = handle;
  return {
    ...handle,
    requests: {
      ...requests,
      request: (subject, payload, options) => {
        if (isSignal.test(subject)) {
          left -= 1;
          if (left === 0) process.kill(process.pid, signal);
        }
        return requests.request(subject, payload, options);
      },
    },
  };
}

const [from, to] = await Promise.all([connectNats({ servers: [source] }), connectNats({ servers: [target] })]);
const onStep = (sentence: string): void => void process.stdout.write(`${sentence}\n`);
await copyStreams({ from, to: dying(to), replicas: Number(replicas), onStep });
await Promise.all([from.drain(), to.drain()]);
