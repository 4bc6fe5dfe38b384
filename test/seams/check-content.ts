import type { CatalogTimeline } from "./catalog-timeline.ts";
import { countBy, type ReportedRouting, type RoutedEvent } from "./check.ts";
import type { Evidence } from "./check-walk.ts";
import { fields, sentText, type ClassifiedField, type Payload, type IngestResult } from "./contracts.ts";
import type { PartnerTimeline } from "./model.ts";
import type { SentEvent } from "./traffic.ts";

/** What pods responded to events, and which part of them was sent. */
export interface ContentResult {
  /** Broken promises, in sentences. */
  readonly problems: readonly string[];
  readonly counts: Readonly<Record<string, unknown>>;
  /** Part of the responses that only one outcome permits. */
  readonly decidedResults: number;
  /** Part of the deliveries that only one text permits. */
  readonly decidedTexts: number;
}

/** Compares all responses to events and the text of every delivery with the catalogs and subscriptions of the time. */
export function checkContent(
  evidence: Evidence,
  routed: readonly RoutedEvent[],
  reportedOf: (event: RoutedEvent) => ReportedRouting | undefined,
): ContentResult {
  const { catalogs, events, recipients } = evidence;
  const results = events.flatMap((event) => resultOf(evidence, event) ?? []);
  const texts = routed.flatMap((one) => textsOf(evidence, one, reportedOf));
  const never = new Set(events.flatMap(({ id, result, tries }) => (isNever(result?.code, tries) ? [id] : [])));
  const unwanted = recipients.flatMap(({ texts: received }, slot) =>
    [...received.keys()].flatMap((id) =>
      never.has(id) ? [`event ${id} was rejected, and recipient ${slot} got it`] : [],
    ),
  );
  const decided = (some: readonly { readonly possible: number }[]): number =>
    some.filter(({ possible }) => possible === 1).length / Math.max(1, some.length);
  return {
    problems: [
      ...[...results, ...texts].flatMap(({ wrong }) => wrong ?? []),
      ...unwanted,
      ...catalogs.problems,
      ...catalogs.timelines.flatMap(({ problems }) => problems),
    ],
    counts: {
      results: countBy(events, ({ result }) => result?.code ?? "none"),
      decidedResults: decided(results),
      texts: texts.length,
      cutTexts: texts.filter(({ isCut }) => isCut).length,
      decidedTexts: decided(texts),
    },
    decidedResults: decided(results),
    decidedTexts: decided(texts),
  };
}

/** Whether no pod can have stored the event: it was rejected at its first request. */
function isNever(code: IngestResult | undefined, tries: number): boolean {
  return code !== undefined && code !== "accepted" && tries === 1;
}

interface Judged {
  /** Number of outcomes that the expectation permits. */
  readonly possible: number;
  readonly wrong?: string;
}

function resultOf({ catalogs }: Evidence, event: SentEvent): Judged | undefined {
  const { id, type, shape, result } = event;
  if (result === undefined) return undefined;
  const { code, fromMs, toMs } = result;
  const possible = catalogs.results(event, result);
  // An event that an earlier request stored is a duplicate, also if its version ended since then.
  const mayBeStored = event.tries > 1 && code === "accepted";
  if (possible.has(code) || mayBeStored) return { possible: possible.size };
  const time = new Date(fromMs).toISOString();
  const story = catalogs.timelineOf(type)?.story(fromMs, toMs).join("; ") ?? "no catalog";
  const expected = [...possible].join(" or ");
  const wrong = `event ${id} (${type}, shape ${shape}) of ${time}: ${code} instead of ${expected}: ${story}`;
  return { possible: possible.size, wrong };
}

interface JudgedText extends Judged {
  readonly isCut: boolean;
}

/** The deliveries of an event. */
function textsOf(
  evidence: Evidence,
  one: RoutedEvent,
  reportedOf: (event: RoutedEvent) => ReportedRouting | undefined,
): readonly JudgedText[] {
  const { partners, catalogs, recipients } = evidence;
  const { event } = one;
  const whole = sentText(event.id, event, event.sentMs, []);
  return recipients.flatMap((recipient, slot) => {
    const received = [...(recipient.texts.get(event.id) ?? [])];
    if (received.length === 0) return [];
    const timelines = partners.timelines[slot] ?? [];
    const known = contentsOf({ timelines, catalogs }, one);
    const possible = known.size > 1 ? contentsOf({ timelines, catalogs }, one, reportedOf(one)) : known;
    const isCut = received.some((text) => text !== whole);
    // Two partner objects of a recipient, one of which replaces the other, may have different payloads.
    const senders = timelines.filter((timeline) => timeline.payloads(event, one.fromMs, one.toMs).length > 0);
    const isRight = received.length <= Math.max(1, senders.length) && received.every((text) => possible.has(text));
    if (isRight) return [{ possible: possible.size, isCut }];
    const lines = timelines.flatMap((timeline) => timeline.story(one.fromMs, one.toMs)).join("; ");
    const story = catalogs.timelineOf(event.type)?.story(one.fromMs, one.toMs).join("; ") ?? "no catalog";
    const expected = [...possible].join(" or ");
    const what = `event ${event.id} of recipient ${slot}: sent ${received.join(" and ")} instead of ${expected}`;
    return [{ possible: possible.size, isCut, wrong: `${what}: ${lines}; ${story}` }];
  });
}

/** The partners of a slot, and the catalogs. */
interface Promised {
  readonly timelines: readonly PartnerTimeline[];
  readonly catalogs: { readonly timelineOf: (type: string) => CatalogTimeline | undefined };
}

/**
 * Every text that the partners of a slot may have got of an event.
 *
 * @param reported decides what edits leave open. @default it stays open
 */
export function contentsOf(
  { timelines, catalogs }: Promised,
  { event, fromMs, toMs }: RoutedEvent,
  reported?: ReportedRouting,
): ReadonlySet<string> {
  const catalog = catalogs.timelineOf(event.type);
  const selections = timelines.flatMap((timeline) => {
    const promised = timeline.payloads(event, fromMs, toMs);
    const payloads = promised.length === 0 ? [] : (reportedPayloads(timeline, reported) ?? promised);
    const isClassified = (field: ClassifiedField): boolean | "open" => {
      if (catalog === undefined) return false;
      const { class: fieldClass } = field;
      return catalog.isClassified({ type: event.type, field, fromMs, toMs }, (sinceMs, untilMs) =>
        timeline.excludesClass(event.type, fieldClass, sinceMs, untilMs),
      );
    };
    const classified = classifiedFields(isClassified, reported);
    return payloads.flatMap((payload) => classified.map((some) => payload.flatMap((part) => withFields(part, some))));
  });
  return new Set(selections.map((selection) => sentText(event.id, event, event.sentMs, selection)));
}

/** The selections of the partner in the configurations that routed the event; undefined if one is not known. */
function reportedPayloads(
  { uid }: PartnerTimeline,
  { partners }: Partial<ReportedRouting> = {},
): readonly (readonly Payload[])[] | undefined {
  if (partners === undefined || partners.length === 0) return undefined;
  const payloads = partners.flatMap((known) => {
    const seen = known?.get(uid);
    return known === undefined ? [undefined] : seen === undefined ? [] : [seen.subscription.payload ?? []];
  });
  return payloads.every((one) => one !== undefined) ? payloads : undefined;
}

/** All sets of fields that may have had their class. */
function classifiedFields(
  isClassified: (field: ClassifiedField) => boolean | "open",
  reported: ReportedRouting | undefined,
): readonly (readonly ClassifiedField[])[] {
  return fields.reduce<readonly (readonly ClassifiedField[])[]>(
    (sets, field) => {
      const promised = isClassified(field);
      const may = promised === "open" ? (reportedClass(field, reported) ?? [true, false]) : [promised];
      return sets.flatMap((set) => may.map((is) => (is ? [...set, field] : set)));
    },
    [[]],
  );
}

function reportedClass(
  field: ClassifiedField,
  { fields: known }: Partial<ReportedRouting> = {},
): readonly boolean[] | undefined {
  if (known === undefined || known.length === 0 || known.includes(undefined)) return undefined;
  return known.map((some) => some?.some((one) => one.pointer === field.pointer && one.class === field.class) === true);
}

/** A selection with the pointers of its classes, as it is applied. */
function withFields(
  { excludeClasses = [], ...part }: Payload,
  classified: readonly ClassifiedField[],
): readonly Payload[] {
  const excluded = classified.filter((field) => excludeClasses.includes(field.class));
  return [part, { exclude: excluded.map(({ pointer }) => `/data${pointer}`) }];
}
