import { plainObject } from "../../crds/valid-objects.ts";

/** A partner at an endpoint of this machine, with the Secret that it signs with; it gets the events of one type. */
export function webhookPartner(port: number, place: number): readonly object[] {
  const name = `p${place}`;
  const changes = {
    "endpoint.url": `http://127.0.0.1:${port}/webhooks/v1/bench`,
    "endpoint.timeoutSeconds": 10,
    "signing.keys[0].secretRef.name": name,
    "subscriptions[0].types": [`bench.${place}.done`],
    "subscriptions[0].tenants": ["*"],
    networks: { allowCidrs: ["127.0.0.0/8"], allowPlaintext: true },
  };
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    stringData: { hmac: `${name}-`.padEnd(40, "k") },
  };
  return [plainObject("WebhookPartner", changes, name), secret];
}
