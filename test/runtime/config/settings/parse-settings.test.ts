import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { parseSettings, SettingsError } from "../../../../runtime/config/settings/parse-settings.ts";
import { defaultSettings, settingsSchema } from "../../../../runtime/config/settings/settings-schema.ts";

function problemsOf(text: string): readonly string[] {
  try {
    parseSettings(text, "s.yaml");
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems.map(({ file, line, field, message }) => `${file}:${line}: ${field}: ${message}`);
  }
}

describe("settings", () => {
  test.each(["", "{}", "# nothing\n", "---\n"])("are the defaults for the text %j", (text) => {
    expect(parseSettings(text)).toEqual(defaultSettings);
  });

  test("by default trust no issuer", () => {
    expect(defaultSettings.issuers).toEqual([]);
  });

  test("take what is named and fill the rest in", () => {
    const text = [
      "name: berlin",
      "issuers:",
      "  - {issuer: https://id.example, audiences: [heliograph], jwksUrl: https://id.example/keys}",
      "claims: {tenants: brands}",
      "streams:",
      "  replicas: 3",
      "  events: {maxBytes: 5000000000}",
    ].join("\n");
    const settings = parseSettings(text);
    expect(settings.name).toBe("berlin");
    expect(settings.issuers[0]?.algorithms).toEqual(["RS256", "ES256", "EdDSA"]);
    expect(settings.claims).toEqual({ ...defaultSettings.claims, tenants: "brands" });
    expect(settings.streams.replicas).toBe(3);
    expect(settings.streams.events).toEqual({ ...defaultSettings.streams.events, maxBytes: 5_000_000_000 });
    expect(settings.personalData).toEqual(defaultSettings.personalData);
  });

  test.each([
    ["with TLS at the pod", "tls: {certFile: a, keyFile: b}", ""],
    ["behind a trusted proxy", "trustedProxies: {addresses: ['fd00::/8'], certificateForm: Xfcc}", ""],
    ["of an issuer that cannot bind its own", "", ", tokenBinding: None"],
  ])("may ask for bound tokens %s", (_name, line, ofIssuer) => {
    const text = `tokenBinding: Certificate\nissuers: [{issuer: i, audiences: [a], jwksFile: k${ofIssuer}}]\n${line}`;
    expect(parseSettings(text).tokenBinding).toBe("Certificate");
  });

  test.each([
    ["whose tokens are bound to a key", "", "tokenBinding: Key"],
    ["that follows the rule of all", "tokenBinding: Key", ""],
  ])("may name an issuer for the console %s", (_name, line, ofIssuer) => {
    const issuer = `{issuer: 'https://id.example', audiences: [a], jwksFile: k, ${ofIssuer}}`;
    const page = "console: {issuer: 'https://id.example', clientId: console, scopes: openid webhooks:read}";
    expect(parseSettings(`${line}\nissuers: [${issuer}]\n${page}`).console).toEqual({
      enabled: true,
      issuer: "https://id.example",
      clientId: "console",
      scopes: "openid webhooks:read",
    });
  });

  test("keep every setting that the schema knows", () => {
    const text = [
      "{name: berlin, residency: eu, tokenBinding: Any, publicUrls: ['https://api.example']",
      "issuers: [{issuer: i, audiences: [a], jwksFile: k}], claims: {tenants: brands}",
      "tls: {certFile: a, keyFile: b}, trustedProxies: {addresses: ['fd00::/8'], certificateForm: Xfcc}",
      "personalData: {forbiddenFields: [nickname]}, streams: {replicas: 3}, delivery: {ownLanesMax: 7}}",
    ].join(",\n");
    const settings = parseSettings(text);
    expect(Object.keys(settings).toSorted()).toEqual(
      Object.keys((settingsSchema as SchemaNode).properties ?? {}).toSorted(),
    );
    expect(settings).toMatchObject({
      residency: "eu",
      tokenBinding: "Any",
      delivery: { ownLanesMax: 7 },
      streams: { replicas: 3 },
    });
  });

  test("replace the list of forbidden fields when one is given", () => {
    expect(parseSettings("personalData: {forbiddenFields: [nickname]}").personalData.forbiddenFields).toEqual([
      "nickname",
    ]);
  });
});

describe("settings are refused with the field and line of", () => {
  const issuer = "issuer: https://id.example, audiences: [a]";
  test.each([
    ["an unknown setting", "name: x\nnmae: y", "s.yaml:2: nmae: is not a known setting"],
    ["an unknown nested setting", "streams:\n  evnets: {}", "s.yaml:2: streams.evnets: is not a known setting"],
    ["a wrong type", "name: [x]", "s.yaml:1: name: must be string"],
    ["a null section", "claims:", "s.yaml:1: claims: must be object"],
    ["no lane at all", "delivery:\n  ownLanesMax: 0", "s.yaml:2: delivery.ownLanesMax: must be >= 1"],
    [
      "a look-up of ids in the tenant without the form that it needs",
      "events:\n  idForms: [Uuid]\n  idCheck: Tenant",
      "s.yaml:3: events.idCheck: Tenant needs TenantPrefix in events.idForms",
    ],
    ["two replicas", "streams:\n  replicas: 2", "s.yaml:2: streams.replicas: must be one of 1, 3, 5"],
    ["a list at the top", "- name: x", "s.yaml:1: : must be object"],
    [
      "an issuer without audiences",
      "issuers:\n  - issuer: x\n    jwksFile: k",
      "s.yaml:2: issuers[0].audiences: is required",
    ],
    [
      "an issuer without keys",
      `issuers:\n  - {${issuer}}`,
      "s.yaml:2: issuers[0]: needs exactly one of jwksUrl and jwksFile",
    ],
    [
      "an issuer with keys in two places",
      `issuers:\n  - {${issuer}, jwksFile: k, jwksUrl: https://id.example/keys}`,
      "s.yaml:2: issuers[0]: needs exactly one of jwksUrl and jwksFile",
    ],
    [
      "keys fetched in plaintext from elsewhere",
      `issuers:\n  - {${issuer}, jwksUrl: http://id.example/keys}`,
      "s.yaml:2: issuers[0].jwksUrl: must be an https URL, or http on a loopback address",
    ],
    [
      "an issuer named twice",
      `issuers:\n  - {${issuer}, jwksFile: k}\n  - {${issuer}, jwksFile: l}`,
      "s.yaml:3: issuers[1].issuer: is already used in another entry",
    ],
    [
      "an issuer whose name comes from nowhere",
      "issuers:\n  - {audiences: [b], jwksUrl: 'https://a.test/k'}",
      "s.yaml:2: issuers[0].issuer: is required without jwksTokenFile",
    ],
    [
      "a way to keys that are not fetched",
      `issuers:\n  - {${issuer}, jwksFile: k, jwksTokenFile: t}`,
      "s.yaml:2: issuers[0].jwksTokenFile: has no effect without jwksUrl",
    ],
    [
      "a subject granted twice",
      `issuers:\n  - {${issuer}, jwksFile: k, grants: [{subject: s, scopes: [], tenants: []}, {subject: s, ` +
        "scopes: [], tenants: []}]}",
      "s.yaml:2: issuers[0].grants[1].subject: is already used in another entry",
    ],
    [
      "an issuer whose tokens nothing could prove",
      `tokenBinding: Certificate\nissuers:\n  - {${issuer}, jwksFile: k}`,
      "s.yaml:3: issuers[0]: requires tokens bound to a certificate: set tls or trustedProxies, or change its " +
        "tokenBinding",
    ],
    [
      "a proxy that is no block of addresses",
      "trustedProxies: {addresses: [10.0.0.1/33], certificateForm: Xfcc}",
      "s.yaml:1: trustedProxies.addresses[0]: must be a CIDR block such as 10.0.0.0/8",
    ],
    ["a certificate without its key", "tls: {certFile: a}", "s.yaml:1: tls.keyFile: is required"],
    [
      "a version of TLS that is too old",
      "tls: {certFile: a, keyFile: b, minVersion: TLSv1.1}",
      "s.yaml:1: tls.minVersion: must be one of TLSv1.2, TLSv1.3",
    ],
    [
      "an address of the API with a path",
      "publicUrls: ['https://a/b']",
      's.yaml:1: publicUrls[0]: must match pattern "^https?://[^/]+$"',
    ],
    [
      "an upper-case prefix",
      "streams: {prefix: HG}",
      's.yaml:1: streams.prefix: must match pattern "^[a-z][a-z0-9]*$"',
    ],
    [
      "events that vanish before their dead letters",
      "streams:\n  events:\n    maxAgeSeconds: 86400",
      "s.yaml:3: streams.events.maxAgeSeconds: must not be less than streams.deadLetters.maxAgeSeconds (1209600)",
    ],
    [
      "an issuer of the console that nobody trusts",
      "console:\n  issuer: https://id.example\n  clientId: c",
      "s.yaml:2: console.issuer: is not one of issuers: add it there, with tokenBinding: Key",
    ],
    [
      "an issuer of the console whose tokens work for anyone",
      "issuers: [{issuer: 'https://a.example', audiences: [a], jwksFile: k}]\n" +
        "console: {issuer: 'https://a.example', clientId: c}",
      "s.yaml:2: console.issuer: has tokenBinding None: set it to Key",
    ],
    [
      "an issuer of the console that also takes certificates",
      "tokenBinding: Any\nissuers: [{issuer: 'https://a.example', audiences: [a], jwksFile: k}]\n" +
        "console: {issuer: 'https://a.example', clientId: c}",
      "s.yaml:3: console.issuer: has tokenBinding Any: set it to Key",
    ],
    [
      "an issuer of the console that no browser finds",
      "issuers: [{issuer: urn:a, audiences: [a], jwksFile: k, tokenBinding: Key}]\n" +
        "console: {issuer: urn:a, clientId: c}",
      "s.yaml:2: console.issuer: must be an https URL, or http on a loopback address: browsers read its metadata",
    ],
    [
      "an issuer of the console without the client",
      "issuers: [{issuer: 'https://a.example', audiences: [a], jwksFile: k, tokenBinding: Key}]\n" +
        "console: {issuer: 'https://a.example'}",
      "s.yaml:2: console.clientId: is required with issuer: register the console there as a public client",
    ],
    [
      "scopes of the console without an issuer",
      "console: {scopes: openid}",
      "s.yaml:1: console.scopes: has no effect without console.issuer: set both",
    ],
    [
      "scopes of the console with two spaces",
      "console: {scopes: 'openid  webhooks:read'}",
      String.raw`s.yaml:1: console.scopes: must match pattern "^[!#-\[\]-~]+(?: [!#-\[\]-~]+)*$"`,
    ],
    ["two documents", "name: a\n---\nname: b", "s.yaml:1: : more than one document"],
    ["broken YAML", "name: 'x", "s.yaml:1: : Missing closing 'quote"],
  ])("%s", (_name, text, expected) => {
    expect(problemsOf(text)).toEqual([expected]);
  });

  test.each(["HS256", "HS384", "HS512", "none"])("the algorithm %s", (algorithm) => {
    const text = `issuers:\n  - {${issuer}, jwksFile: k, algorithms: [${algorithm}]}`;
    expect(problemsOf(text)).toEqual([expect.stringMatching(/issuers\[0\]\.algorithms\[0\]: must be one of RS256/u)]);
  });

  test("every field at fault, not only the first", () => {
    expect(problemsOf("name: 7\nclaims: {tenants: 7}\nstreams: {replicas: 9}")).toHaveLength(3);
  });
});

describe("the schema of settings", () => {
  test("accepts the defaults", () => {
    expect(new Ajv({ strict: true }).validate(settingsSchema, defaultSettings)).toBe(true);
  });

  test("describes, closes and bounds every property", () => {
    expect(faultsOf(settingsSchema as SchemaNode, "")).toEqual([]);
  });
});

interface SchemaNode {
  readonly description?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly additionalProperties?: boolean;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maximum?: number;
}

const boundOf: Readonly<Record<string, keyof SchemaNode>> = {
  string: "maxLength",
  array: "maxItems",
  integer: "maximum",
  object: "additionalProperties",
};

function faultsOf(node: SchemaNode, path: string): readonly string[] {
  const bound = boundOf[node.type ?? ""];
  return [
    ...(bound !== undefined && node[bound] === undefined ? [`${path} has no ${bound}`] : []),
    ...Object.entries(node.properties ?? {}).flatMap(([name, property]) => [
      ...(property.description === undefined ? [`${path}.${name} has no description`] : []),
      ...faultsOf(property, `${path}.${name}`),
    ]),
    ...(node.items === undefined ? [] : faultsOf(node.items, `${path}[]`)),
  ];
}
