import { randomUUID } from "node:crypto";

/** Header of the correlation id in requests and responses. */
export const correlationHeader = "x-correlation-id";

const wellFormed = /^[A-Za-z0-9._:-]{1,128}$/u;

/** The caller's correlation id if it is valid (1 to 128 of `A-Z a-z 0-9 . _ : -`), otherwise a new one. */
export function correlationId(header: string | readonly string[] | undefined): string {
  return typeof header === "string" && wellFormed.test(header) ? header : randomUUID();
}
