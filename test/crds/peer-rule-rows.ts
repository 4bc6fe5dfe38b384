import { rowsOf, type RuleRow } from "./rows.ts";

const peer = {
  url: "https://latam.example",
  auth: { bearer: { secretRef: { name: "peer" } } },
  tls: { clientSecretRef: { name: "client" } },
};
const oauth2 = { tokenUrl: "https://id.example/token", clientId: "eu", secretRef: { name: "peer" } };
const oneToken = "auth must have exactly one of bearer and oauth2";
const place = { name: "latam", region: "latam" };
const oneKind = "a store must have exactly one of prometheus and peer";
const ownLabels = "tenancy and labelMap are not allowed for a peer, which has its own";

const row = (says: string, store: object, field: string, message: string) => ({
  says,
  set: { "stores[1]": { ...place, ...store } },
  field,
  message,
});
const atUrl = (says: string, url: string, message: string) =>
  row(says, { peer: { ...peer, url } }, "spec.stores[1].peer.url", message);

/** Faulty stores that are runtimes of other regions, each with the one rule that refuses it. */
export const peerRuleRows = rowsOf<RuleRow>("MetricCatalog", [
  row("has a store of no kind", {}, "spec.stores[1]", oneKind),
  row(
    "has a store of two kinds",
    { prometheus: { url: "http://latam.example:9090" }, peer },
    "spec.stores[1]",
    oneKind,
  ),
  row(
    "says that series of a peer belong to no tenant",
    { peer, tenancy: "Platform" },
    "spec.stores[1].peer",
    ownLabels,
  ),
  row("maps labels of a peer", { peer, labelMap: { psp: "provider" } }, "spec.stores[1].peer", ownLabels),
  row(
    "has two kinds of tokens for a peer",
    { peer: { ...peer, auth: { ...peer.auth, oauth2 } } },
    "spec.stores[1].peer.auth",
    oneToken,
  ),
  row("has no token for a peer", { peer: { ...peer, auth: {} } }, "spec.stores[1].peer.auth", oneToken),
  atUrl(
    "asks a peer in the clear",
    "http://latam.example",
    "the URL of a peer must be https, because both sides present a certificate",
  ),
  atUrl("has a path for a peer's URL", "https:/partials", "the URL must be an absolute http or https URL"),
  atUrl(
    "has a peer with a number for a host",
    "https://2130706433/",
    "the host must be a DNS name, an IPv4 address or an IPv6 address in brackets, and the port at most 65535",
  ),
  atUrl(
    "has a peer with an IPv4 address in brackets",
    "https://[10.0.0.1]/",
    "the brackets must contain an IPv6 address",
  ),
  atUrl(
    "has a password in a peer's URL",
    "https://user:word@latam.example/",
    "the URL must not contain a user or password",
  ),
  atUrl(
    "has a query in a peer's URL",
    "https://latam.example/?a=b",
    "the URL must not have a query, because the path of the store's API is appended",
  ),
  atUrl("has a fragment in a peer's URL", "https://latam.example/#a", "the URL must not have a fragment"),
  atUrl(
    "has a space in a peer's URL",
    "https://latam.example/a b",
    "the URL must contain only valid URL characters; percent-encode all others",
  ),
]);
