import type { PartnerDetail } from "../../api/partners.ts";
import { healthKind } from "./health-kind.ts";

/** What to do about a partner, and the command that does it. */
export interface Advice {
  readonly text: string;
  /** What the command does. */
  readonly label: string;
  readonly command: string;
}

type Facts = Pick<PartnerDetail, "partner" | "state" | "health" | "rejected" | "managed_by">;

const edits: Readonly<Record<string, string>> = {
  rejected: "Correct the definition. Until then no events are routed to this partner.",
  held: "Restore what is missing. Deliveries wait and are sent afterwards.",
  paused: "Set spec.state to Active to send the waiting deliveries.",
  disabled:
    "Change the definition, such as the URL, once the endpoint accepts events again. Any change resumes deliveries.",
  rate_limited: "Deliveries resume at that time. If it happens often, lower spec.delivery.rate.",
  circuit_open:
    "Deliveries resume once a probe succeeds. Look at the failed deliveries, then fix the endpoint or its URL.",
  failing: "Look at the failed deliveries, fix the endpoint or its URL, then redrive what is no longer retried.",
};

/** Advice for the health of a partner; undefined if it is healthy and its definition is applied. */
export function adviceOf(partner: Facts): Advice | undefined {
  const kind = healthKind(partner);
  const text = edits[kind];
  if (text !== undefined) return { text, ...commandFor(partner, kind) };
  if (partner.rejected === null || partner.rejected === undefined) return undefined;
  return {
    text: "The last edit is rejected, and the version before it stays applied. Correct the definition.",
    ...commandFor(partner, "rejected"),
  };
}

/** The command that edits the definition, for where it is. */
export function editCommand(partner: Pick<Facts, "partner" | "managed_by">): string {
  const [namespace = "", name = ""] = partner.partner.split("/", 2);
  if (partner.managed_by?.source !== "folder") return `kubectl edit webhookpartner ${name} -n ${namespace}`;
  return `grep -rlF 'name: ${name}' ${folderOf(partner)}`;
}

/** The command that shows what is wrong with the definition. */
export function checkCommand(partner: Pick<Facts, "partner" | "managed_by">): string {
  const [namespace = "", name = ""] = partner.partner.split("/", 2);
  if (partner.managed_by?.source !== "folder") return `kubectl describe webhookpartner ${name} -n ${namespace}`;
  return `heliograph validate ${folderOf(partner)}`;
}

function commandFor(partner: Facts, kind: string): Pick<Advice, "label" | "command"> {
  if (kind === "rejected" || kind === "held")
    return { label: "This shows what is wrong:", command: checkCommand(partner) };
  const [namespace = "", name = ""] = partner.partner.split("/", 2);
  if (kind === "paused" && partner.managed_by?.source !== "folder")
    return {
      label: "This resumes deliveries:",
      command: `kubectl patch webhookpartner ${name} -n ${namespace} --type merge -p '{"spec":{"state":"Active"}}'`,
    };
  const isFolder = partner.managed_by?.source === "folder";
  return { label: isFolder ? "This finds its file:" : "This edits it:", command: editCommand(partner) };
}

/** The folder as a word of a shell; only administrators see its name. */
function folderOf({ managed_by: place }: Pick<Facts, "managed_by">): string {
  const folder = place?.folder ?? "DIR";
  return /^[\w./-]+$/u.test(folder) ? folder : `'${folder.replaceAll("'", String.raw`'\''`)}'`;
}
