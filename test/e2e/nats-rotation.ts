import type { Forward } from "../cluster/cluster.ts";
import type { CertificateAuthority } from "../support/tls/certificate-authority.ts";
import { certificateOfNats, serialOf } from "../support/tls/served-certificate.ts";
import { waitFor } from "../support/wait.ts";
import type { Installation } from "./installation.ts";
import type { User } from "./user.ts";

/** The Secret that the suite rotates, as cert-manager would. */
export const rotatedSecret = "nats-rotated";

/** The bar of a rotation, from the change of the Secret until new clients see it. */
export const servedMsMax = 120_000;

/** Every name of the NATS of a release, for one server and for three. */
function namesOf(service: string, namespace: string): readonly string[] {
  const pods = [0, 1, 2].map((index) => `${service}-nats-${index}.${service}-nats-pods`);
  return [`${service}-nats`, `${service}-nats-pods`, ...pods].map((name) => `${name}.${namespace}.svc`);
}

/** Writes a new certificate into the Secret. Answers its serial number. */
export async function rotate(
  user: Pick<User, "kubectl">,
  authority: CertificateAuthority,
  { service, namespace, validMs }: { readonly service: string; readonly namespace: string; readonly validMs: number },
): Promise<string> {
  const { cert, key } = authority.issue({ commonName: "nats", names: namesOf(service, namespace), validMs });
  await user.kubectl(["apply", "--filename=-"], {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: rotatedSecret },
    type: "kubernetes.io/tls",
    stringData: { "ca.crt": authority.cert, "tls.crt": cert, "tls.key": key },
  });
  return serialOf(cert);
}

/** Serial number of the certificate that a new client of NATS sees. */
export async function servedSerial({ cluster }: Installation, namespace: string, service: string): Promise<string> {
  const forward: Forward = await cluster.forward({ namespace, service: `${service}-nats`, port: 4222 });
  try {
    return (await certificateOfNats(Number(new URL(forward.url).port))).serialNumber;
  } finally {
    await forward.close();
  }
}

/** Waits until new clients see a certificate. Answers how long that took. @throws Error when the bar is missed */
export async function untilServed(look: () => Promise<string>, serial: string): Promise<number> {
  const startMs = performance.now();
  const isServed = async (): Promise<boolean> => (await look()) === serial;
  await waitFor(isServed, { timeoutMs: servedMsMax, pollMs: 1_000, what: `certificate ${serial}` });
  return performance.now() - startMs;
}
