import { expect, test } from "vitest";
import { createTokens } from "../../../../runtime/webhooks/authorization/access-tokens.ts";
import { compilePartners } from "../../../../runtime/webhooks/partners/partner.ts";
import { notifyRecipient } from "../../../../runtime/webhooks/replay/notify-recipient.ts";
import { createSender } from "../../../../runtime/webhooks/sending/send.ts";
import { configOf, partnerConfig } from "../engine-fixture.ts";

test("a notification to an invalid URL fails, and is not thrown", async () => {
  const one = partnerConfig("one", "http://127.0.0.1:9/v1");
  const config = { ...one, endpoint: { ...one.endpoint, ackUrl: "http://a b/ack" } };
  const [partner] = compilePartners(configOf(config), []);
  if (partner === undefined) throw new Error("no partner");
  const sender = createSender();
  const deps = { sender, tokens: createTokens(sender, Date.now), now: Date.now, installation: "i", version: "1" };
  const letter = { eventId: "e-1", attemptsBefore: 0, attempt: 1 } as Parameters<typeof notifyRecipient>[2];
  expect(await notifyRecipient(deps, partner, letter, undefined)).toEqual({ status: null, error: "guard" });
  await sender.close();
});
