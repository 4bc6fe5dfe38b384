/** Partners (`namespace/name`) that a caller is narrowed to. Absent, or with the entry `*`: every one. */
export interface PartnerAccess {
  readonly partners?: readonly string[];
}

const every = "*";

/** Whether a caller sees the partners that it names and no others. */
export function isNarrowed(access: PartnerAccess): access is Required<PartnerAccess> {
  return access.partners !== undefined && !access.partners.includes(every);
}

/** Whether a caller may see and act on deliveries to a partner. */
export function mayNamePartner(access: PartnerAccess, label: string): boolean {
  return !isNarrowed(access) || access.partners.includes(label);
}

/** The access alone, of whatever carries it. */
export function partnersOf({ partners }: PartnerAccess): PartnerAccess {
  return partners === undefined ? {} : { partners };
}
