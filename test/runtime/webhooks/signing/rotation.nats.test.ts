import { createSecretKey } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PartnerConfig, RuntimeConfig } from "../../../../crds/config.ts";
import { schemes } from "../../../../runtime/webhooks/signing/schemes.ts";
import { startNatsServer, type NatsServerHandle } from "../../../support/nats-server.ts";
import { waitFor } from "../../../support/wait.ts";
import { engineCase, partnerServer } from "../engine-cases.ts";
import { configOf, eventBytes, partnerConfig } from "../engine-fixture.ts";

let server: NatsServerHandle;
beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.stop());

const timeoutMs = 20_000;
const secretOf = (name: string): Buffer => Buffer.from(name.padEnd(40, name));
const material = { new: secretOf("new").toString("base64"), old: secretOf("old").toString("base64") };

test.for(["HmacV1", "StandardWebhooks"] as const)(
  "%s: a recipient with one key accepts every delivery of a rotation until the notAfter of the old key",
  async (scheme, context) => {
    const partner = await partnerServer(context);
    const plain = partnerConfig("one", partner.url);
    const signed = (keys: PartnerConfig["signing"]["keys"], specDigest: string): RuntimeConfig => {
      const config = configOf({ ...plain, specDigest, signing: { scheme, sideBySide: true, keys } });
      return { ...config, material: { ...config.material, ...material } };
    };
    const [fresh, old] = [
      { id: "new", material: "new" },
      { id: "old", material: "old" },
    ];
    const engine = await engineCase(server.url, context, signed([old], "before"));
    /** Which of the two keys a recipient that knows only one may have to take the delivery. */
    const takenWith = async (eventId: string): Promise<readonly string[]> => {
      await engine.ingest(eventBytes(eventId));
      const { path, headers, body } = await waitFor(() => partner.of(eventId)[0], { timeoutMs, what: eventId });
      const request = { method: "POST", target: path, headers, body };
      const takes = (id: string): boolean =>
        schemes[scheme].verify([{ id, secret: createSecretKey(secretOf(id)) }], request, Date.now()).ok;
      return ["old", "new"].filter(takes);
    };
    expect(await takenWith("before")).toEqual(["old"]);
    engine.engine.apply(signed([fresh, { ...old, notAfterMs: Date.now() + 3_600_000 }], "side by side"));
    expect(await takenWith("meanwhile")).toEqual(["old", "new"]);
    engine.engine.apply(signed([fresh, { ...old, notAfterMs: Date.now() - 1 }], "after its end"));
    expect(await takenWith("after")).toEqual(["new"]);
  },
);
