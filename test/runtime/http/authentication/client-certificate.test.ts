import { createHash, X509Certificate } from "node:crypto";
import { Socket } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import type { TrustedProxySettings } from "../../../../runtime/config/settings/settings.ts";
import { createCertificateReader } from "../../../../runtime/http/authentication/client-certificate.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";

let pem = "";
let thumbprint = "";
let base64 = "";

beforeAll(() => {
  pem = createCertificateAuthority("clients").issue({ commonName: "dashboards" }).cert;
  const der = new X509Certificate(pem).raw;
  thumbprint = createHash("sha256").update(der).digest("hex");
  base64 = der.toString("base64");
});

function socketFrom(address: string): Socket {
  return Object.defineProperty(new Socket(), "remoteAddress", { value: address });
}

const proxies = (
  certificateForm: TrustedProxySettings["certificateForm"],
  changes: Partial<TrustedProxySettings> = {},
): TrustedProxySettings => ({
  addresses: ["10.1.0.0/16", "fd00::/8"],
  certificateForm,
  ...changes,
});

/** What is read of a header that a proxy sent, as lowercase hex. */
function shown(
  trustedProxies: TrustedProxySettings,
  headers: Record<string, string | string[]>,
  from = "10.1.2.3",
): string | undefined {
  const read = createCertificateReader({ trustedProxies })(socketFrom(from), headers);
  return read === undefined ? undefined : Buffer.from(read).toString("hex");
}

describe("the certificate of a trusted proxy's header", () => {
  test("is read as Envoy writes it", () => {
    const value = `By=spiffe://mesh/ns/a;Hash=${thumbprint};Subject="CN=a;b,c=\\"d\\"";URI=`;
    expect(shown(proxies("Xfcc"), { "x-forwarded-client-cert": value })).toBe(thumbprint);
  });

  const victim = "ab".repeat(32);
  const forged: readonly (readonly [string, (own: string) => string])[] = [
    ["a URI name", (own) => `By=spiffe://mesh;Hash=${own};URI=spiffe://x;Hash=${victim}`],
    ["a URI name with a comma", (own) => `Hash=${own};URI=spiffe://x,Hash=${victim}`],
    ["a URI name with a comma and another key", (own) => `Hash=${own};URI=spiffe://x,By=y;Hash=${victim}`],
    ["a DNS name in other case", (own) => `Hash=${own};URI=a;DNS=x;hAsH=${victim}`],
    ["a name with a quote", (own) => `Hash=${own};URI=x";Hash=${victim};DNS="`],
    ["a second header line", (own) => `Hash=${own}, Hash=${victim}`],
    ["a hash before that of the proxy", (own) => `Hash=${victim};Hash=${own}`],
    ["a hash inside another value", (own) => `URI=Hash=${victim};DNS=${own}`],
    ["an element before that of the proxy", (own) => `Hash=${victim};Subject="",By=x;Hash=${own}`],
  ];
  test.each(forged)("is invalid if %s could be another hash", (_name, header) => {
    expect(shown(proxies("Xfcc"), { "x-forwarded-client-cert": header(thumbprint) })).toBeUndefined();
  });

  test("is read beside a quoted subject with any text", () => {
    const value = `Hash=${thumbprint};Subject="CN=\\";Hash=${victim},By=x";URI=`;
    expect(shown(proxies("Xfcc"), { "x-forwarded-client-cert": value })).toBe(thumbprint);
  });

  test("is that of the last hop if the settings say that proxies append", () => {
    const value = `Hash=${"0".repeat(64)};Subject="",By=x;Hash=${thumbprint}`;
    expect(shown(proxies("XfccAppend"), { "x-forwarded-client-cert": value })).toBe(thumbprint);
    const invalid = [`Hash=${thumbprint},By=x`, `Hash=${thumbprint},By=x;Hash=${thumbprint};URI=y;Hash=${victim}`];
    invalid.forEach((header) =>
      expect(shown(proxies("XfccAppend"), { "x-forwarded-client-cert": header })).toBeUndefined(),
    );
  });

  test("is read as nginx escapes it, and as load balancers do that escape less", () => {
    expect(shown(proxies("EscapedPem"), { "x-ssl-client-cert": encodeURIComponent(pem) })).toBe(thumbprint);
    const sparing = encodeURIComponent(pem).replaceAll("%2B", "+").replaceAll("%2F", "/").replaceAll("%3D", "=");
    expect(shown(proxies("EscapedPem"), { "x-ssl-client-cert": sparing })).toBe(thumbprint);
  });

  test("is read as RFC 9440 defines", () => {
    expect(shown(proxies("ClientCert"), { "client-cert": `:${base64}:` })).toBe(thumbprint);
  });

  test("is read from the header that the settings name, whatever its case", () => {
    const named = proxies("ClientCert", { certificateHeader: "X-Client" });
    expect(shown(named, { "x-client": `:${base64}:` })).toBe(thumbprint);
    expect(shown(named, { "client-cert": `:${base64}:` })).toBeUndefined();
  });

  test.each(["10.1.2.3", "::ffff:10.1.255.255", "fd12::1"])("counts from %s", (from) => {
    expect(shown(proxies("ClientCert"), { "client-cert": `:${base64}:` }, from)).toBe(thumbprint);
  });

  test.each(["10.2.0.1", "::ffff:10.2.0.1", "127.0.0.1", "fe80::1", ""])("means nothing from %j", (from) => {
    expect(shown(proxies("ClientCert"), { "client-cert": `:${base64}:` }, from)).toBeUndefined();
  });

  test("has no effect without trusted proxies", () => {
    expect(createCertificateReader({})(socketFrom("10.1.2.3"), { "client-cert": `:${base64}:` })).toBeUndefined();
  });

  const rows: readonly (readonly [string, TrustedProxySettings["certificateForm"], string])[] = [
    ["no element", "Xfcc", ""],
    ["a hash that is none", "Xfcc", "Hash=12"],
    ["an element that never ends", "Xfcc", 'Hash=00;Subject="'],
    ["broken escapes", "EscapedPem", "%zz"],
    ["no PEM", "EscapedPem", "none"],
    ["two values of a header that may stand once", "ClientCert", ":YQ==:, :YQ==:"],
    ["an empty byte sequence", "ClientCert", "::"],
    ["no base64", "ClientCert", ":!:"],
  ];
  test.each(rows)("is none for %s", (_name, form, value) => {
    const header = {
      Xfcc: "x-forwarded-client-cert",
      XfccAppend: "x-forwarded-client-cert",
      EscapedPem: "x-ssl-client-cert",
      ClientCert: "client-cert",
    }[form];
    expect(shown(proxies(form), { [header]: value })).toBeUndefined();
  });
});
