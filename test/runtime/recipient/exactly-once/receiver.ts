// One process of a recipient, started by receivers.ts: `node receiver.ts DATABASE URL`. It prints its port.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { DeliveredEvent } from "../../../../runtime/recipient/verify-delivery.ts";
import { createRecipient } from "../../../../runtime/recipient/recipient.ts";
import { ClaimLostError } from "../../../../runtime/recipient/stores/claim.ts";
import { openDatabase } from "./open-database.ts";

/** Every tenth event of the flood fails at its first attempt. */
function failsFirst({ event_id: eventId, attempt }: DeliveredEvent): boolean {
  return attempt === 1 && /^flood-.*7$/u.test(eventId);
}

const plannedFailure = "fails first";
const [name = "", url = "", secret = ""] = process.argv.slice(2);
const { store } = await openDatabase(name, url);
const recipient = createRecipient({
  keys: () => [{ id: "current", secret: Buffer.from(secret) }],
  store,
  handle: async (event, pay) => {
    // Only a transaction undoes an effect.
    if (failsFirst(event) && name !== "postgres") throw new Error(plannedFailure);
    await pay(event.event_id);
    if (failsFirst(event)) throw new Error(plannedFailure);
  },
  handlerVersion: "v1",
  report: ({ outcome, error }) => {
    const isUnplanned = error instanceof Error && error.message !== plannedFailure;
    process.stdout.write(`${error instanceof ClaimLostError ? "claim_lost" : isUnplanned ? "broken" : outcome}\n`);
  },
});
const server = createServer(recipient);
server.listen(0, "127.0.0.1");
await once(server, "listening");
process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
