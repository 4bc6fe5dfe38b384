import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { loadKeys, namedIssuer } from "../../../../runtime/http/authentication/key-source.ts";
import { createCertificateAuthority } from "../../../support/tls/certificate-authority.ts";
import { temporaryFolder, type TemporaryFolder } from "../../../support/temp-folder.ts";

const issuer = { issuer: "https://id.example", audiences: ["a"], algorithms: ["ES256"] };
let server: Server | undefined;
let folder: TemporaryFolder | undefined;

afterEach(async () => {
  server?.close();
  await folder?.remove();
  server = undefined;
  folder = undefined;
});

async function served(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}/keys` : "";
}

describe("the name of an issuer", () => {
  const unnamed = { ...issuer, issuer: "", jwksUrl: "https://kubernetes.default.svc/openid/v1/jwks" };

  async function named(claims: object): Promise<string> {
    folder = await temporaryFolder("issuer");
    const jwksTokenFile = join(folder.path, "token");
    const parts = [{ alg: "RS256" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
    await writeFile(jwksTokenFile, `${parts.join(".")}.c2ln\n`);
    return (await namedIssuer({ ...unnamed, jwksTokenFile })).issuer;
  }

  test("is that of the settings, without a read of the token", async () => {
    expect(await namedIssuer({ ...unnamed, issuer: "https://id.example", jwksTokenFile: "/nowhere" })).toMatchObject({
      issuer: "https://id.example",
    });
  });

  test("is that of the pod's token if the settings name none", async () => {
    const iss = "https://oidc.eks.eu-west-1.amazonaws.com/id/0123";
    expect(await named({ iss, sub: "system:serviceaccount:a:b" })).toBe(iss);
  });

  test("must be in the token", async () => {
    await expect(named({ sub: "a" })).rejects.toThrow("has no claim iss");
    await expect(namedIssuer({ ...unnamed, jwksTokenFile: "/nowhere" })).rejects.toThrow("ENOENT");
  });
});

describe("the keys of an issuer", () => {
  test("come from a file", async () => {
    folder = await temporaryFolder("keys");
    const jwksFile = join(folder.path, "jwks.json");
    await writeFile(jwksFile, '{"keys": []}');
    await expect(loadKeys({ ...issuer, jwksFile })).resolves.toEqual({ keys: [] });
  });

  test("come from a URL", async () => {
    const jwksUrl = await served((_request, response) => response.end('{"keys": []}'));
    await expect(loadKeys({ ...issuer, jwksUrl })).resolves.toEqual({ keys: [] });
  });

  test("come from a URL that requires a token and has a certificate of its own authority", async () => {
    folder = await temporaryFolder("keys");
    const authority = createCertificateAuthority("keys");
    const { cert, key } = authority.issue({ commonName: "server", names: ["127.0.0.1"] });
    const [jwksCaFile, jwksTokenFile] = [join(folder.path, "ca.crt"), join(folder.path, "token")];
    await Promise.all([writeFile(jwksCaFile, authority.cert), writeFile(jwksTokenFile, "abc\n")]);
    const listener: RequestListener = (request, response) => {
      response.writeHead(request.headers.authorization === "Bearer abc" ? 200 : 401).end('{"keys": []}');
    };
    server = createTlsServer({ cert, key }, listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const jwksUrl = `https://127.0.0.1:${port}/keys`;
    await expect(loadKeys({ ...issuer, jwksUrl, jwksCaFile, jwksTokenFile })).resolves.toEqual({ keys: [] });
    await expect(loadKeys({ ...issuer, jwksUrl, jwksCaFile })).rejects.toThrow("returned the status 401");
    await expect(loadKeys({ ...issuer, jwksUrl, jwksTokenFile })).rejects.toThrow(
      /certificate|self-signed|unable to verify/u,
    );
  });

  test.each<[string, RequestListener, RegExp]>([
    ["an error", (_request, response) => response.writeHead(500).end("{}"), /returned the status 500/u],
    [
      "a redirect",
      (_request, response) => response.writeHead(302, { location: "/other" }).end(),
      /returned the status 302/u,
    ],
    ["something else", (_request, response) => response.end("<html>"), /JSON/u],
    ["another JSON", (_request, response) => response.end('{"key": 1}'), /not a JWK set/u],
    ["far too much", (_request, response) => response.end(" ".repeat(1024 * 1024 + 1)), /more than/u],
  ])("are not taken from a URL that returns %s", async (_name, listener, message) => {
    const jwksUrl = await served(listener);
    await expect(loadKeys({ ...issuer, jwksUrl })).rejects.toThrow(message);
  });

  test("are not taken from a file that is not there", async () => {
    await expect(loadKeys({ ...issuer, jwksFile: "/nowhere/jwks.json" })).rejects.toThrow(/ENOENT/u);
  });
});
