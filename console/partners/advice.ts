import type { PartnerDetail } from "../../api/partners.ts";
import { missingSecret } from "../components/format.ts";
import { healthKind, isHalfOpen } from "./health-kind.ts";

/** What to do about a partner, and the command that does it. */
export interface Advice {
  readonly text: string;
  /** What follows and how to start; undefined if nobody who sees this can do it. */
  readonly step?: Step;
}

/** A text to copy, such as a command or the name of a file. */
export interface Step {
  readonly label: string;
  readonly text: string;
}

type Facts = Pick<
  PartnerDetail,
  "partner" | "state" | "health" | "reason" | "rejected" | "managed_by" | "missing" | "backlog"
>;
type Place = Pick<Facts, "partner" | "managed_by">;

const edits: Readonly<Record<string, string>> = {
  rejected: "Correct the definition. Until then no events are routed to this partner.",
  held: "Restore what is missing. Deliveries wait and are sent afterwards.",
  paused: "Set spec.state to Active to send the waiting deliveries.",
  disabled:
    "Change the definition, such as the URL, once the endpoint accepts events again. Any change resumes deliveries.",
  rate_limited: "Deliveries resume at that time. If it happens often, lower spec.delivery.ratePerSecond.",
  circuit_open:
    "Look at the failed deliveries, then fix the endpoint or its URL. A waiting delivery is the probe; deliveries " +
    "resume once one succeeds.",
  failing: "Look at the failed deliveries, fix the endpoint or its URL, then redrive what is no longer retried.",
};

/** What ends the hold of a partner for which nothing is missing. */
const holdEdits: Readonly<Record<string, string>> = {
  conflicted: "Give the partner a key that no other partner has.",
  not_permitted: "Restore the permission, or remove what needs it from the definition.",
  keyless: "Add a signing key that is valid now.",
};

/** Without a waiting delivery nothing probes the endpoint, so the breaker stays open. */
const unprobed =
  "Look at the failed deliveries, then fix the endpoint or its URL. No delivery is waiting, so the circuit breaker " +
  "stays open until the next event or a ping: send a ping to close it.";

const halfOpen =
  "Look at the failed deliveries, then fix the endpoint or its URL. The circuit breaker lets the next attempt " +
  "through, and no delivery is waiting: send a ping to close it.";

function editText({ state, reason }: Facts, kind: string): string | undefined {
  const hold = kind === "held" && state === "active" ? "keyless" : (reason ?? "");
  const edit = kind === "held" && Object.hasOwn(holdEdits, hold) ? holdEdits[hold] : undefined;
  return edit === undefined ? edits[kind] : `${edit} Deliveries wait and are sent afterwards.`;
}

/** Advice for the health of a partner; undefined if it is healthy and its definition is applied. */
export function adviceOf(partner: Facts): Advice | undefined {
  const kind = healthKind(partner);
  if (kind === "circuit_open" && partner.backlog === 0)
    return withStep(isHalfOpen(partner) ? halfOpen : unprobed, pingStep(partner));
  const text = editText(partner, kind);
  if (text !== undefined) return withStep(text, stepFor(partner, kind));
  if (partner.rejected === null || partner.rejected === undefined) return undefined;
  const rejected = "The last edit is rejected, and the version before it stays applied. Correct the definition.";
  return withStep(rejected, stepFor(partner, "rejected"));
}

function withStep(text: string, step: Step | undefined): Advice {
  return step === undefined ? { text } : { text, step };
}

/** Where the definition is edited; undefined for a folder that the token may not see. */
export function editStep({ partner, managed_by: place }: Place): Step | undefined {
  if (place?.source !== "folder") return { label: "This edits it:", text: `kubectl edit ${resourceOf(partner)}` };
  if (place.folder === null) return undefined;
  const { folder, file } = place;
  if (file === undefined || file === null) return { label: "It is in this folder:", text: folder };
  return { label: "Edit this file:", text: `${folder.replace(/\/$/u, "")}/${file}` };
}

const wrongLabel = "This shows what is wrong:";

/** The command that checks the definition; undefined for a folder that the token may not see. */
export function checkStep(
  { partner, managed_by: place }: Place,
  label = "This checks the definition:",
): Step | undefined {
  if (place?.source !== "folder") return { label, text: `kubectl describe ${resourceOf(partner)}` };
  if (place.folder === null) return undefined;
  return { label, text: `${place.program ?? "heliograph"} validate ${inShell(place.folder)}` };
}

function stepFor(partner: Facts, kind: string): Step | undefined {
  const isFolder = partner.managed_by?.source === "folder";
  if (kind === "rejected" && isFolder) return editStep(partner);
  if (kind === "held") return secretStep(partner) ?? checkStep(partner, wrongLabel);
  if (kind === "rejected") return checkStep(partner, wrongLabel);
  if (kind !== "paused" || isFolder) return editStep(partner);
  return {
    label: "This resumes deliveries:",
    text: `kubectl patch ${resourceOf(partner.partner)} --type merge -p '{"spec":{"state":"Active"}}'`,
  };
}

function pingStep({ partner, managed_by: place }: Place): Step {
  const text = `${place?.program ?? "heliograph"} partners ping ${partner} --wait`;
  return { label: "This sends a ping, as the button below does:", text };
}

/** What supplies the Secret that a partner lacks; undefined without one, and for a folder that is not shown. */
function secretStep({ missing, managed_by: place }: Facts): Step | undefined {
  const secret = missingSecret(missing ?? "");
  if (secret === undefined) return undefined;
  const lacksSecret = secret.fault === "SecretNotFound";
  if (place?.source === "folder") {
    const what = lacksSecret ? `The Secret ${secret.name}` : `A key of the Secret ${secret.name}`;
    const label = `${what} is missing. Add it to a file of this folder:`;
    return place.folder === null ? undefined : { label, text: place.folder };
  }
  const [namespace = "", name = ""] = secret.name.split("/", 2);
  return lacksSecret
    ? {
        label: "This creates the Secret; replace KEY and FILE:",
        text: `kubectl create secret generic ${name} -n ${namespace} --from-file=KEY=FILE`,
      }
    : { label: "This shows the keys of the Secret:", text: `kubectl describe secret ${name} -n ${namespace}` };
}

/** The resource of a partner as arguments of kubectl. */
function resourceOf(partner: string): string {
  const [namespace = "", name = ""] = partner.split("/", 2);
  return `webhookpartner ${name} -n ${namespace}`;
}

/** A path as a word of a shell. */
function inShell(path: string): string {
  return /^[\w./-]+$/u.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
