import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { specSchemas } from "../../crds/types/schemas.ts";
import { deliveryBytesMax } from "../../runtime/recipient/endpoints.ts";
import { seenSecondsMin } from "../../runtime/recipient/seen-store.ts";
import { eventBytesMax } from "../../runtime/webhooks/events/envelope.ts";
import { responseBodyBytesMax } from "../../runtime/webhooks/sending/exchange.ts";
import { settle } from "../../runtime/webhooks/settlement/settle.ts";
import { deliveryHeaders } from "../../runtime/webhooks/signing/signed-request.ts";
import { canonicalString } from "../../runtime/webhooks/signing/hmac-v1.ts";
import { signatureWindowMs } from "../../runtime/webhooks/signing/verification-result.ts";
import { textOf } from "../architecture/named-files.ts";
import { bodyText, newSecret, path, sentAtMs, timestamp, valid } from "./vector-rows.ts";
import { vectors } from "./vectors.ts";

const page = textOf("docs/how-to/receive-webhooks.md");

/** Rows of the table whose head has this first cell. */
function rowsOf(head: string): readonly (readonly string[])[] {
  const [, behind = ""] = page.split(`\n| ${head} |`);
  const [table = ""] = behind.split("\n\n");
  const lines = table.split("\n").slice(2);
  return lines.map((line) => line.split(" | ").map((cell) => cell.replaceAll(/^\| | \|$/gu, "")));
}

/** The default of a field of a WebhookPartner. */
function standard(field: string): unknown {
  let schema: unknown = specSchemas.WebhookPartner;
  for (const name of field.split(".")) schema = (schema as { properties: Record<string, object> }).properties[name];
  return (schema as { readonly default?: unknown }).default;
}

const numberOf = (field: string): number => Number(standard(field));

const units = [
  ["h", 3600],
  ["m", 60],
] as const;

function durationOf(seconds: number): string {
  const [unit, size] = units.find(([, length]) => seconds >= length) ?? ["s", 1];
  return `${seconds / size} ${unit}`;
}

describe("the worked example", () => {
  test("has the signed text and the signature of the published vector", () => {
    const [, signedText = "", header = ""] = page.split("```text\n").map((part) => part.split("\n```")[0]);
    expect(signedText).toBe(canonicalString({ timestamp, method: "POST", path, body: Buffer.from(bodyText) }));
    expect(header).toBe(`X-Signature: ${valid["X-Signature"]}`);
    expect(signedText).toContain(hash("sha256", bodyText));
  });

  test("has the key, the body and the time of that vector in its commands", () => {
    expect(page).toContain(`printf '%s' ${newSecret.toString()} > example.key`);
    expect(page).toContain(`printf '%s' '${bodyText}' > event.json`);
    expect(page).toContain(`--timestamp ${timestamp}`);
  });
});

describe("the tables", () => {
  test("of headers has all that the sender sets", () => {
    const attempt = { keys: [], url: new URL("http://x/"), body: Buffer.alloc(0), eventId: "e", sentAtMs, attempt: 1 };
    const more = {
      producer: "p",
      version: "1",
      replayId: "r",
      traceparent: "t",
      requestOrigin: "o",
      endpointHeaders: {},
    };
    const sent = Object.keys(deliveryHeaders("HmacV1", { ...attempt, ...more }));
    expect(
      rowsOf("Header")
        .map(([name = ""]) => name.replaceAll("`", ""))
        .toSorted(),
    ).toEqual(sent.toSorted());
  });

  test("of answers says what becomes of every status", () => {
    const words = { delivered: "Delivered", rejected: "Rejected", disabled: "Disabled", retry: "Retried", dead: "" };
    const rows = rowsOf("Your response");
    const wordOf = (status: number): string => {
      const named = rows.find(([cell = ""]) => cell.split(", ").includes(String(status)));
      const [, text = ""] = named ?? rows.find(([cell]) => cell?.startsWith(status < 300 ? "2xx" : "any other")) ?? [];
      return text.split(":")[0] ?? "";
    };
    const policy = { scheduleSeconds: [5], maxAgeSeconds: 60, jitterPercent: 0 };
    for (let status = 200; status <= 599; status += 1) {
      const response = { kind: "response", status, headers: {}, body: "", bodyTruncated: false } as const;
      const outcome = { ...response, timings: { totalMs: 1 } };
      const { kind } = settle(outcome, policy, { attempt: 1, acceptedAtMs: 0 }, 0, () => 0);
      expect(`${status} ${wordOf(status)}`).toBe(`${status} ${words[kind]}`);
    }
  });

  test("of terms has the defaults and bounds of the product", () => {
    const schedule = standard("retry.scheduleSeconds") as readonly number[];
    const days = numberOf("retry.maxAgeSeconds") / 86_400;
    const terms = Object.fromEntries(rowsOf("Term").map(([name = "", value = ""]) => [name, value]));
    expect(terms).toMatchObject({
      "Waits between attempts": `${schedule.map((seconds) => durationOf(seconds)).join(", ")}, then daily`,
      Jitter: `up to ${numberOf("retry.jitterPercent")} % is added to each wait`,
      "End of the attempts": expect.stringMatching(new RegExp(`^${days} d after `, "u")),
      "Timeout of an attempt": `${numberOf("endpoint.timeoutSeconds")} s, including the connection`,
      "Largest event": `${eventBytesMax} bytes; the body of a delivery has at most ${deliveryBytesMax}`,
      "Read of your response": expect.stringContaining(`and ${responseBodyBytesMax} of the body`),
    });
    const [failures, openSeconds, maxSeconds] = ["failures", "openSeconds", "maxOpenSeconds"].map((name) =>
      numberOf(`circuitBreaker.${name}`),
    );
    const pause = `after ${failures} of them the sender pauses for ${openSeconds} s, and up to ${maxSeconds} s`;
    expect(terms["Consecutive failures"]).toContain(pause);
  });

  test("of members has all of the vectors, and the texts their bounds", () => {
    const members = rowsOf("Member").flatMap(([names = ""]) => names.replaceAll("`", "").split(", "));
    expect(members.toSorted()).toEqual([...new Set(vectors.flatMap((vector) => Object.keys(vector)))].toSorted());
    expect(page).toContain(`differs from your clock by at most ${signatureWindowMs / 1000} s`);
    expect(page).toContain(`Keep it for at least ${numberOf("endpoint.idempotencySeconds") / 86_400} d`);
    expect(numberOf("endpoint.idempotencySeconds")).toBeGreaterThanOrEqual(seenSecondsMin);
  });
});

describe("the snippets", () => {
  test.each([
    ["python", "docs/recipients/python/endpoint.py"],
    ["go", "docs/recipients/go/endpoint/main.go"],
  ])("in %s are parts of %s", (language, file) => {
    const blocks = page.split(`\`\`\`${language}\n`).slice(1);
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) expect(textOf(file)).toContain(block.split("\n```")[0]);
  });
});
