import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type CertificateRequest, createCertificateAuthority } from "./certificate-authority.ts";

describe("createCertificateAuthority", () => {
  const authority = createCertificateAuthority("root");
  const root = new X509Certificate(authority.cert);
  const issue = (request: CertificateRequest) => new X509Certificate(authority.issue(request).cert);

  test("has a root that may sign and proves itself", () => {
    expect(root.ca).toBe(true);
    expect(root.verify(root.publicKey)).toBe(true);
  });

  test("issues a server's certificate that the root proves, for its names and addresses only", () => {
    const server = issue({ commonName: "server", names: ["api.test", "10.0.0.1", "fd00:89::1", "::1"] });
    expect(server.checkIssued(root) && server.verify(root.publicKey)).toBe(true);
    expect(server.ca).toBe(false);
    expect([server.checkHost("api.test"), server.checkIP("10.0.0.1")]).toEqual(["api.test", "10.0.0.1"]);
    expect(["fd00:89::1", "::1", "fd00:89::2"].map((address) => server.checkIP(address) !== undefined)).toEqual([
      true,
      true,
      false,
    ]);
    expect([server.checkHost("other.test"), server.checkIP("10.0.0.2")]).toEqual([undefined, undefined]);
  });

  test("issues a client's certificate that names its user and groups", () => {
    const client = issue({ commonName: "system:node:one", organizations: ["system:nodes", "more"] });
    expect(client.subject.split("\n")).toEqual(["O=system:nodes", "O=more", "CN=system:node:one"]);
  });

  test("issues a key with each certificate, never the same one twice", () => {
    const [one, two] = [authority.issue({ commonName: "a" }), authority.issue({ commonName: "a" })];
    expect(one.key).not.toBe(two.key);
    expect(new X509Certificate(one.cert).serialNumber).not.toBe(new X509Certificate(two.cert).serialNumber);
  });
});
