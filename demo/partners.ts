import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createMemorySeenStore } from "../runtime/recipient/seen-store.ts";
import { DeliveryRefusal, type DeliveryReport } from "../runtime/recipient/receive.ts";
import { createRecipient } from "../runtime/recipient/recipient.ts";

/** Events with a fate of their own: one is rejected by a partner once, one for good. */
export const eventIds = { retried: "evt-payout-0001-processed", rejected: "evt-payout-0002-processed" } as const;

/** What happened at a partner, as the partner saw it. */
export interface PartnerReport extends DeliveryReport {
  readonly partner: string;
}

/** A running partner. */
export interface DemoPartner {
  readonly url: string;
  /** Deliveries so far, oldest first. */
  readonly reports: readonly PartnerReport[];
  stop(): Promise<void>;
}

interface PartnerRole {
  readonly name: string;
  /** As in `docs/examples/webhook-partner.yaml`. */
  readonly port: number;
  readonly key: string;
  /** The temper of the partner: throws what it answers instead of taking the event. */
  readonly consider: (eventId: string, attempt: number) => void;
}

/** The partners of `docs/examples/webhook-partner.yaml`. */
export const partnerRoles = [
  {
    name: "acme-payments",
    port: 19_101,
    key: "example-signing-key-of-acme-payments",
    consider: (eventId, attempt) => {
      if (eventId !== eventIds.retried || attempt > 1) return;
      throw new DeliveryRefusal(503, "maintenance", "The ledger is being backed up");
    },
  },
  {
    name: "north-ledger",
    port: 19_102,
    key: "example-signing-key-of-north-ledger",
    consider: (eventId) => {
      if (eventId !== eventIds.rejected) return;
      throw new DeliveryRefusal(422, "invalid_state", "The payout is already reversed");
    },
  },
] as const satisfies readonly PartnerRole[];

/**
 * Starts one partner: a `node:http` server around the recipient kit, remembering events in memory.
 *
 * @throws Error with a sentence when its port is taken
 */
export async function startPartner(role: PartnerRole): Promise<DemoPartner> {
  const reports: PartnerReport[] = [];
  const server = createServer(
    createRecipient({
      keys: () => [{ id: "current", secret: Buffer.from(role.key) }],
      store: createMemorySeenStore(),
      handle: async (event) => role.consider(event.event_id, event.attempt),
      handlerVersion: "demo-1",
      report: (report) => void reports.push({ ...report, partner: role.name }),
    }),
  );
  await listen(server, role);
  const stop = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${role.port}`, reports, stop };
}

async function listen(server: Server, { name, port }: PartnerRole): Promise<void> {
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Error(`The partner ${name} cannot listen on port ${port}: end what uses it and try again.`, {
      cause: error,
    });
  }
}
