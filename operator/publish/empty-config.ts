import { classDefaults } from "../../crds/compile/class-defaults.ts";
import type { RuntimeConfig } from "../../crds/config.ts";

/** A configuration without any resource. */
export const emptyConfig: RuntimeConfig = {
  schema: 1,
  partners: [],
  catalogs: [],
  quotas: [],
  classDefaults,
  material: {},
};
