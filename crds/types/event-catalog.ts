// Generated from the definitions in crds/*.yaml by `npm run generate`. Edit those instead.

/** The owner of the types, and the types. */
export interface EventCatalogSpec {
  /** Team that owns the types. */
  readonly owner: string;
  /** Where to reach the owner, such as a channel, an address or a URL. */
  readonly contact?: string;
  /** Types of events that producers may send. A type belongs to one catalog of the installation. */
  readonly types: readonly EventCatalogType[];
}

/** A type of events. */
export interface EventCatalogType {
  /** Value of the envelope's type. */
  readonly type: string;
  /** What happened when an event of this type is sent. */
  readonly description: string;
  /**
   * Versions of the payload. Within a version, a schema only gains optional properties; any other change needs a new
   * version.
   */
  readonly versions: readonly EventCatalogTypeVersion[];
  /** Fields of data that not every partner may see, by class. @default [] */
  readonly sensitive: readonly EventCatalogTypeSensitive[];
}

/** A version of the payload. */
export interface EventCatalogTypeVersion {
  /** Value of the envelope's version, a date like 2026-01-31. */
  readonly version: string;
  /**
   * JSON Schema 2020-12 of the envelope's data, at most 32 KiB. It uses the keywords that the page about event catalogs
   * lists, and references below $defs only.
   */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Values of data that are valid under the schema. @default [] */
  readonly examples: readonly (Readonly<Record<string, unknown>>)[];
  /** Deprecated versions are still accepted until sunsetAt. @default "Active" */
  readonly state: "Active" | "Deprecated";
  /** Time in UTC at which the version was deprecated. */
  readonly deprecatedAt?: string;
  /** Time in UTC from which new events of the version are rejected. If absent, they are accepted without an end. */
  readonly sunsetAt?: string;
}

/** A field of data and its class. */
export interface EventCatalogTypeSensitive {
  /** JSON pointer into data, such as /merchant/margin. The segment * matches every item of a list. */
  readonly pointer: string;
  /** Class of the field, a word of the installation such as personal or financial. */
  readonly class: string;
}
