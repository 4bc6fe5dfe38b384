import { randomUUID } from "node:crypto";

/** Header that carries the correlation id, both ways. */
export const correlationHeader = "x-correlation-id";

const wellFormed = /^[A-Za-z0-9._:-]{1,128}$/u;

/** The caller's correlation id when it is well-formed (1 to 128 of `A-Z a-z 0-9 . _ : -`), else a new one. */
export function correlationId(header: string | readonly string[] | undefined): string {
  return typeof header === "string" && wellFormed.test(header) ? header : randomUUID();
}
