import { describe, expect, test } from "vitest";
import { type EndpointSlice, listedPods, podAddresses } from "../../../operator/observe/endpoints.ts";

type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];

const endpoint = (name: string, address: string, ready?: boolean): Endpoint => ({
  addresses: [address],
  targetRef: { kind: "Pod", name, uid: `uid-${name}` },
  ...(ready === undefined ? {} : { conditions: { ready } }),
});
const slice = (endpoints: readonly Endpoint[], changes: Partial<EndpointSlice> = {}): EndpointSlice => ({
  metadata: { name: "slice" },
  addressType: "IPv4",
  ports: [
    { name: "http", port: 8080 },
    { name: "admin", port: 9090 },
  ],
  endpoints,
  ...changes,
});
const urls = (...slices: readonly EndpointSlice[]) =>
  podAddresses(slices, "admin").map(({ name, url }) => `${name} ${url}`);

describe("the pods of a Service", () => {
  test("are its ready endpoints at the named port, by name", () => {
    const found = urls(
      slice([
        endpoint("rt-2", "10.0.0.2", true),
        endpoint("rt-1", "10.0.0.1", true),
        endpoint("rt-3", "10.0.0.3", false),
      ]),
    );
    expect(found).toEqual(["rt-1 http://10.0.0.1:9090", "rt-2 http://10.0.0.2:9090"]);
  });

  test("are ready when nothing is said of it", () => {
    expect(urls(slice([endpoint("rt-1", "10.0.0.1")]))).toEqual(["rt-1 http://10.0.0.1:9090"]);
  });

  test("come from all slices, each pod once, at IPv4 before IPv6", () => {
    const six = slice([endpoint("rt-1", "fd00::1"), endpoint("rt-2", "fd00::2")], { addressType: "IPv6" });
    expect(urls(six, slice([endpoint("rt-1", "10.0.0.1")]))).toEqual([
      "rt-1 http://10.0.0.1:9090",
      "rt-2 http://[fd00::2]:9090",
    ]);
  });

  test("are asked at the only port, whatever its name", () => {
    expect(urls(slice([endpoint("rt-1", "10.0.0.1")], { ports: [{ port: 7000 }] }))).toEqual([
      "rt-1 http://10.0.0.1:7000",
    ]);
  });

  test.each([
    [
      "has no such port",
      slice([endpoint("rt-1", "10.0.0.1")], {
        ports: [
          { name: "a", port: 1 },
          { name: "b", port: 2 },
        ],
      }),
    ],
    ["has no ports", slice([endpoint("rt-1", "10.0.0.1")], { ports: null })],
    ["has no endpoints", slice([], { endpoints: null })],
    ["holds names", slice([endpoint("rt-1", "pod.example")], { addressType: "FQDN" })],
    ["has an endpoint without an address", slice([{ addresses: [] }])],
  ])("are none when a slice %s", (_what, odd) => {
    expect(urls(odd)).toEqual([]);
  });

  test("are others when a pod of the same name is another", () => {
    const [before] = podAddresses([slice([endpoint("rt-1", "10.0.0.1")])], "admin");
    const [after] = podAddresses(
      [slice([{ addresses: ["10.0.0.1"], targetRef: { name: "rt-1", uid: "another" } }])],
      "admin",
    );
    expect(before?.identity).not.toBe(after?.identity);
  });

  test("without a name have that of their address", () => {
    expect(urls(slice([{ addresses: ["10.0.0.9"] }]))).toEqual(["10.0.0.9:9090 http://10.0.0.9:9090"]);
  });
});

test("pods listed by hand are their URLs, each once", () => {
  expect(listedPods(["http://127.0.0.1:1/", "http://127.0.0.1:1/", "http://127.0.0.1:2"])).toMatchObject([
    { name: "127.0.0.1:1", url: "http://127.0.0.1:1" },
    { name: "127.0.0.1:2", url: "http://127.0.0.1:2" },
  ]);
});
