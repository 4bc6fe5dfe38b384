export const shells = ["bash", "zsh", "fish"] as const;
/** A shell whose command lines can be completed. */
export type Shell = (typeof shells)[number];
