import { byText } from "../../crds/compile/canonical-json.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

/** Address of one pod's `/configz`. */
export interface PodAddress {
  /** Name of the pod; its address when no pod is named. */
  readonly name: string;
  /** Changes with a new pod of the same name. */
  readonly identity: string;
  /** Scheme, host and port. */
  readonly url: string;
}

/** The used members of an EndpointSlice. */
export interface EndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly endpoints?: ReadonlyArray<{
    readonly addresses?: readonly string[];
    /** `ready` that is absent means true. */
    readonly conditions?: { readonly ready?: boolean | null };
    readonly targetRef?: { readonly kind?: string; readonly name?: string; readonly uid?: string };
  }> | null;
  readonly ports?: ReadonlyArray<{ readonly name?: string; readonly port?: number | null }> | null;
}

/**
 * The ready pods of a Service, by name. Of several address families, IPv4 comes before IPv6. A slice without the port
 * has no pods.
 */
export function podAddresses(slices: readonly EndpointSlice[], portName: string): readonly PodAddress[] {
  const sorted = slices.toSorted((one, other) => byText(one.addressType ?? "", other.addressType ?? ""));
  const found = sorted.flatMap((slice) => addressesOf(slice, portName));
  const byName = new Map(found.toReversed().map((address) => [address.name, address]));
  return [...byName.values()].sort((one, other) => byText(one.name, other.name));
}

function addressesOf({ addressType, endpoints, ports }: EndpointSlice, portName: string): readonly PodAddress[] {
  const port = portOf(ports ?? [], portName);
  if (port === undefined || addressType === "FQDN") return [];
  return (endpoints ?? []).flatMap(({ addresses, conditions, targetRef }) => {
    const [address] = addresses ?? [];
    if (address === undefined || conditions?.ready === false) return [];
    const host = addressType === "IPv6" ? `[${address}]` : address;
    const url = `http://${host}:${port}`;
    return [{ name: targetRef?.name ?? `${host}:${port}`, identity: `${targetRef?.uid ?? ""} ${url}`, url }];
  });
}

/** The only port needs no name. */
function portOf(ports: NonNullable<EndpointSlice["ports"]>, name: string): number | undefined {
  const named = ports.find((port) => port.name === name) ?? (ports.length === 1 ? ports[0] : undefined);
  return named?.port ?? undefined;
}

/** Pods of a fixed list of URLs. Each is always ready. */
export function listedPods(urls: readonly string[]): readonly PodAddress[] {
  return [...new Set(urls)].map((url) => ({ name: new URL(url).host, identity: url, url: url.replace(/\/$/u, "") }));
}
