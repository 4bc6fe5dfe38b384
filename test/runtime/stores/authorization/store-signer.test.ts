import { describe, expect, test } from "vitest";
import { stsUrlOf } from "../../../../runtime/stores/authorization/role-signer.ts";
import { awsSignature } from "../../../../runtime/stores/authorization/store-signer.ts";

// The key, the time and the scope of the published test suite of Signature Version 4.
const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const scope = { region: "us-east-1", service: "service", nowMs: Date.UTC(2015, 7, 30, 12, 36) };
const unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const form = "application/x-www-form-urlencoded";
const vanilla = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";

function signatureOf(method: string, path: string, type?: string, body = "", sessionToken?: string): string {
  const headers = type === undefined ? {} : { "content-type": type };
  const request = { method, host: "example.amazonaws.com", path, headers, body };
  const own = sessionToken === undefined ? keys : { ...keys, sessionToken };
  return awsSignature(request, own, scope)["authorization"] ?? "";
}

describe("the published vectors of Signature Version 4", () => {
  test.each<readonly [name: string, method: string, path: string, signature: string]>([
    ["get-vanilla", "GET", "/", vanilla],
    ["get-slash", "GET", "//", vanilla],
    ["get-slash-dot-slash", "GET", "/./", vanilla],
    ["get-relative", "GET", "/example/..", vanilla],
    ["get-relative-relative", "GET", "/example1/example2/../..", vanilla],
    ["get-slashes", "GET", "//example//", "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"],
    [
      "get-slash-pointless-dot",
      "GET",
      "/./example",
      "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
    ],
    ["get-space", "GET", "/example space/", "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"],
    ["get-utf8", "GET", "/ሴ", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"],
    ["get-unreserved", "GET", `/${unreserved}`, "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"],
    [
      "get-vanilla-empty-query-key",
      "GET",
      "/?Param1=value1",
      "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
    ],
    [
      "get-vanilla-query-order-key-case",
      "GET",
      "/?Param2=value2&Param1=value1",
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ],
    ["get-vanilla-utf8-query", "GET", "/?ሴ=bar", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"],
    ["post-vanilla", "POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"],
  ])("%s", (_name, method, path, signature) => {
    expect(signatureOf(method, path)).toBe(
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
        `SignedHeaders=host;x-amz-date, Signature=${signature}`,
    );
  });

  test("post-x-www-form-urlencoded", () => {
    expect(signatureOf("POST", "/", form, "Param1=value1")).toBe(
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
        "SignedHeaders=content-type;host;x-amz-date, " +
        "Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    );
  });

  test("post-sts-header-before", () => {
    const token =
      "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUu" +
      "wthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHN" +
      "VXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
    expect(signatureOf("POST", "/", undefined, "", token)).toContain(
      "SignedHeaders=host;x-amz-date;x-amz-security-token, " +
        "Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
    );
  });
});

// Clients that knew one domain or only the global endpoint: prometheus/prometheus#10308, aws/aws-sdk-js-v3#6711,
// cert-manager/cert-manager#5455, n8n-io/n8n#32825.
describe("the Security Token Service of a role", () => {
  test.each([
    ["aws", "eu-west-1", "https://sts.eu-west-1.amazonaws.com/"],
    ["aws-cn", "cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn/"],
    ["aws-us-gov", "us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com/"],
    ["aws-eusc", "eusc-de-east-1", "https://sts.eusc-de-east-1.amazonaws.eu/"],
    ["aws-iso", "us-iso-east-1", "https://sts.us-iso-east-1.c2s.ic.gov/"],
    ["aws-iso-b", "us-isob-east-1", "https://sts.us-isob-east-1.sc2s.sgov.gov/"],
    ["aws-iso-e", "eu-isoe-west-1", "https://sts.eu-isoe-west-1.cloud.adc-e.uk/"],
    ["aws-iso-f", "us-isof-south-1", "https://sts.us-isof-south-1.csp.hci.ic.gov/"],
  ])("of the partition %s is that of the region", (partition, region, expected) => {
    expect(stsUrlOf(region, `arn:${partition}:iam::123456789012:role/reader`)).toBe(expected);
  });
});
