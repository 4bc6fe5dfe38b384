import { counter, histogram, ratio } from "./catalog-changes.ts";
import { rowsOf, type RuleRow } from "./rows.ts";
import type { Changes } from "./valid-objects.ts";

const places: readonly (readonly [kind: string, change: Changes])[] = [
  ["gauge", {}],
  ["counter", counter],
  ["ratio.numerator", ratio],
  ["ratio.denominator", ratio],
  ["histogram", histogram],
];
const faults: readonly (readonly [what: string, op: string, value: string])[] = [
  ["does not close a group", "Matches", "(5"],
  ["looks ahead", "NotMatches", "(?!a)"],
  ["is one only between brackets", "Matches", "a)(b"],
  ["quotes to its end", "Matches", "\\Qa"],
];

const hostFault = "the host must be a DNS name, an IPv4 address or an IPv6 address in brackets";
const portFault = "the port must be a number from 1 to 65535";
const pages: readonly (readonly [url: string, message: string])[] = [
  ["https://user:word@runbooks.example/a", "the URL must not contain a user or password"],
  ["https://word@runbooks.example", "the URL must not contain a user or password"],
  ["https://runbooks.example:99999/a", portFault],
  ["https://[2001:db8::1]:0/a", portFault],
  ["https://runbooks.example:a", portFault],
  ["https://1.2.3.400/a", hostFault],
  ["https://books.-/a", hostFault],
  ["https://[::::]/a", "the brackets must contain an IPv6 address"],
  ['https://runbooks.example/"a"', "the URL must contain only valid URL characters; percent-encode all others"],
];
const oneOfKeys = "sigv4 must have exactly one of secretRef and webIdentity";
const readerRole = "arn:aws:iam::123456789012:role/reader";
const oneOfCredentials = "auth must have exactly one of basic, bearer, oauth2 and sigv4";

/** What no store can be asked: matchers whose expression is none, of every kind of source, and labels of one name. */
export const storeRuleRows = rowsOf<RuleRow>("MetricCatalog", [
  {
    says: "has two kinds of credentials for one store",
    set: { "stores[0].prometheus.auth": { basic: { secretRef: { name: "a" } }, bearer: { secretRef: { name: "b" } } } },
    field: "spec.stores[0].prometheus.auth",
    message: oneOfCredentials,
  },
  {
    says: "has no credentials in auth",
    set: { "stores[0].prometheus.auth": {} },
    field: "spec.stores[0].prometheus.auth",
    message: oneOfCredentials,
  },
  {
    says: "has a token and client credentials for one store",
    set: {
      "stores[0].prometheus.auth": {
        bearer: { secretRef: { name: "b" } },
        oauth2: { tokenUrl: "https://id.example/token", clientId: "eu", secretRef: { name: "a" } },
      },
    },
    field: "spec.stores[0].prometheus.auth",
    message: oneOfCredentials,
  },
  {
    says: "has neither keys nor a role for signatures of AWS",
    set: { "stores[0].prometheus.auth": { sigv4: { region: "eu-west-1" } } },
    field: "spec.stores[0].prometheus.auth.sigv4",
    message: oneOfKeys,
  },
  {
    says: "has keys and a role for signatures of AWS",
    set: {
      "stores[0].prometheus.auth": {
        sigv4: { region: "eu-west-1", secretRef: { name: "aws" }, webIdentity: { roleArn: readerRole } },
      },
    },
    field: "spec.stores[0].prometheus.auth.sigv4",
    message: oneOfKeys,
  },
  {
    says: "maps two labels to one name",
    set: { "stores[0].labelMap": { device: "kind", component: "kind" } },
    field: "spec.stores[0].labelMap",
    message: "labelMap must not map two labels to the same name",
  },
  ...["", "metrics[0]."].flatMap((place) =>
    pages.map(([url, message]) => ({
      says: `has the ${place}runbookUrl ${url}`,
      set: { [`${place}runbookUrl`]: url },
      field: `spec.${place}runbookUrl`,
      message,
    })),
  ),
  ...places.flatMap(([kind, change]) =>
    faults.map(([what, op, value]) => ({
      says: `matches a ${kind} by an expression that ${what}`,
      set: { ...change, [`metrics[0].source.${kind}.matchers`]: [{ label: "code", op, value }] },
      field: `spec.metrics[0].source.${kind}.matchers[0].value`,
      message: "the value of Matches and NotMatches must be an RE2 expression",
    })),
  ),
]);
