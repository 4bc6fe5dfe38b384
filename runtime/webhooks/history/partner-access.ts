/** The partners that a caller may see. */
export interface PartnerAccess {
  /** `namespace/name`. @default all, as with the entry `*` */
  readonly partners?: readonly string[];
}

const anyPartner = "*";

/** True when a caller may see only some partners. */
export function isNarrowed(access: PartnerAccess): access is Required<PartnerAccess> {
  return access.partners !== undefined && !access.partners.includes(anyPartner);
}

/** True when a caller may see and act on deliveries to a partner. */
export function mayNamePartner(access: PartnerAccess, label: string): boolean {
  return !isNarrowed(access) || access.partners.includes(label);
}

/** Copies only the access from a larger object. */
export function partnersOf({ partners }: PartnerAccess): PartnerAccess {
  return partners === undefined ? {} : { partners };
}
