import { deadLettersPerJobMax } from "../../../api/selections.ts";
import { ApiError, invalidField, orEventsUnavailable } from "../../errors/api-error.ts";
import type { DeadLettersStream } from "../../nats/streams/dead-letters-stream.ts";
import { includesTenant } from "../ids.ts";
import type { Partner } from "../partners/partner.ts";
import type { ReplayRequest, SelectionRequest } from "./parse-body.ts";
import { deadLetterKeysOf, partnerNamed } from "./partner-named.ts";
import { accessOf, type ReplayCaller, type ReplaySource, type ReplaySpec, type SelectionAction } from "./replay-job.ts";
import type { LetterCount } from "./selected-letters.ts";

interface SpecDeps {
  readonly deadLetters: Pick<DeadLettersStream, "lastSeq" | "list">;
  readonly partners: () => readonly Partner[];
}

type Settings = Pick<ReplayRequest, "types" | "partners" | "onlyFailed" | "ratePerSecond" | "force">;

/** What the caller gets when NATS does not respond to a request about dead letters. */
export const lettersUnavailable = "The dead-letter store does not respond";

/** A replay within the access of its caller. */
export function specOf(
  { types, partners, onlyFailed, ratePerSecond, force }: Settings,
  source: ReplaySource,
  caller: ReplayCaller,
): ReplaySpec {
  const access = accessOf(caller, { partners, types, onlyFailed });
  return { source, ratePerSecond, force, ...access, requestedBy: caller.client };
}

/**
 * A redrive or an acknowledgement of selected dead letters.
 *
 * @throws ApiError `partner_not_found`, `tenant_forbidden`, `events_unavailable`
 */
export async function selectionSpec(
  deps: SpecDeps,
  action: SelectionAction,
  request: SelectionRequest,
  caller: ReplayCaller,
): Promise<ReplaySpec> {
  const { partner: label, tenant } = request;
  const of = tenant === undefined ? caller : { ...caller, tenants: [tenant] };
  if (tenant !== undefined && !includesTenant(caller.tenants, tenant))
    throw new ApiError("tenant_forbidden", `The token does not allow events of tenant ${tenant}`);
  return orEventsUnavailable(async () => {
    const lastSeq = await deps.deadLetters.lastSeq();
    if (label === undefined) return selection(action, request, of, lastSeq);
    if (action === "acknowledge") {
      await deadLetterKeysOf(deps, label, caller);
      return selection(action, request, of, lastSeq);
    }
    const partner = partnerNamed(deps.partners(), label, caller);
    return isOlderForm(request) ? olderRedrive(partner, request, of, lastSeq) : selection(action, request, of, lastSeq);
  }, lettersUnavailable);
}

/** True for a redrive that a pod of an earlier version can run too. */
function isOlderForm({ fromMs, toMs, letterIds }: SelectionRequest): boolean {
  return fromMs === undefined && toMs === undefined && letterIds === undefined;
}

function olderRedrive(
  { key, label }: Partner,
  request: SelectionRequest,
  caller: ReplayCaller,
  lastSeq: number,
): ReplaySpec {
  const { reason = "*", eventIds } = request;
  const ids = eventIds === undefined ? {} : { eventIds };
  const source = { kind: "dead_letters", partner: key, reason, lastSeq, ...ids } as const;
  return { ...specOf(settingsOf(request), source, caller), redriven: label };
}

function selection(
  action: SelectionAction,
  request: SelectionRequest,
  caller: ReplayCaller,
  lastSeq: number,
): ReplaySpec {
  const { partner, reason, fromMs, toMs, eventIds, letterIds, note } = request;
  const members = Object.entries({ reason, fromMs, toMs, eventIds, letterIds, note });
  const given = Object.fromEntries(members.filter(([, value]) => value !== undefined));
  const source: ReplaySource = { kind: "selected_dead_letters", action, lastSeq, ...given };
  return specOf({ ...settingsOf(request), partners: partner === undefined ? [] : [partner] }, source, caller);
}

function settingsOf({ types, ratePerSecond }: SelectionRequest): Settings {
  return { types, ratePerSecond, partners: [], onlyFailed: false, force: true };
}

/** Names the members that would narrow the selection. */
export function tooManyLetters({ source, filter }: ReplaySpec, { matched, isExact }: LetterCount): ApiError {
  const { fromMs, reason } =
    source.kind === "selected_dead_letters" ? source : { fromMs: undefined, reason: undefined };
  const hasPartner = source.kind === "dead_letters" || filter.partners.length > 0;
  const members = { from: fromMs !== undefined, partner: hasPartner, reason: reason !== undefined };
  const unused = Object.entries({ ...members, types: filter.types.length > 0 }).filter(([, isGiven]) => !isGiven);
  const names = unused.map(([name]) => name);
  const found = `${isExact ? "" : "at least "}${matched}`;
  const how = names.length === 0 ? "Use a later from or an earlier to." : `Narrow it by ${names.join(", ")}.`;
  const detail = `The selection has ${found} dead letters; the maximum is ${deadLettersPerJobMax}. ${how}`;
  return invalidField("too_many_dead_letters", names[0] ?? "from", detail);
}
