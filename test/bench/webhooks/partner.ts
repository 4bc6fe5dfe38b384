import { plainObject, type Changes } from "../../crds/valid-objects.ts";

/**
 * A partner at an endpoint of this machine, with the Secret that it signs with. It gets the events of one type, unless
 * the changes say otherwise.
 */
export function webhookPartner(port: number, place: number, more: Changes = {}): readonly object[] {
  const name = `p${place}`;
  const changes = {
    "endpoint.url": `http://127.0.0.1:${port}/webhooks/v1/bench`,
    "endpoint.timeoutSeconds": 10,
    "signing.keys[0].secretRef.name": name,
    "subscriptions[0].types": [`bench.${place}.done`],
    "subscriptions[0].tenants": ["*"],
    networks: { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true },
    ...more,
  };
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    stringData: { hmac: `${name}-`.padEnd(40, "k") },
  };
  return [plainObject("WebhookPartner", changes, name), secret];
}
