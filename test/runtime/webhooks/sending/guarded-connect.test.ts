import { describe, expect, test } from "vitest";
import {
  certificateAlert,
  ConnectFault,
  guardedConnector,
} from "../../../../runtime/webhooks/sending/guarded-connect.ts";
import { createAddressGuard } from "../../../../runtime/webhooks/sending/address-guard.ts";

/** The result of a connector for a host, with access to the public Internet only. */
async function connectTo(hostname: string, addresses: readonly string[]): Promise<unknown> {
  const connect = guardedConnector({
    guard: createAddressGuard({ allowCidrs: [], allowPlaintext: true }),
    tls: {},
    resolve: async () => addresses,
    timeoutMs: 1_000,
  });
  const target = { hostname, protocol: "http:", port: "80" };
  return await connect(target, { isConnecting: false }).catch((error: unknown) => error);
}

describe("the connector", () => {
  test.each([
    ["an address in place of a name", "127.0.0.1", [], "127.0.0.1 is loopback (127.0.0.0/8), which is not allowed"],
    ["an IPv6 address in place of a name", "::1", [], "::1 is loopback (::1/128), which is not allowed"],
    ["a name behind it", "a.test", ["8.8.8.8", "::1"], "a.test: ::1 is loopback (::1/128), which is not allowed"],
    ["an answer that is no address", "a.test", ["b.test"], "a.test: b.test is not an IP address"],
  ])("judges %s even if nobody did before", async (_, hostname, addresses, detail) => {
    const fault = await connectTo(hostname, addresses);
    expect(fault).toBeInstanceOf(ConnectFault);
    expect(fault).toMatchObject({ reason: "guard", message: detail });
  });
});

describe("TLS alerts", () => {
  test.each([
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "ERR_SSL_TLSV1_ALERT_UNKNOWN_CA",
    "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE",
    "ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED",
    "ERR_SSL_TLSV1_ALERT_ACCESS_DENIED",
  ])("%s is about the certificate of this side", (code) => {
    expect(certificateAlert.test(code)).toBe(true);
  });

  test.each([
    "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
    "ERR_SSL_WRONG_VERSION_NUMBER",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "CERT_HAS_EXPIRED",
  ])("%s is not", (code) => {
    expect(certificateAlert.test(code)).toBe(false);
  });
});
