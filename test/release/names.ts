import { version } from "../../runtime/version.ts";

/** Owner of the repository, the registry's names and the npm scope. Nothing is published before the first release. */
const owner = "heliograph-dev";

/** The repository that may publish, as GitHub names it. */
export const repository = `${owner}/heliograph`;
/** Where images and charts go. */
export const releaseRegistry = `ghcr.io/${owner}`;
/** The scope of the npm packages; the name `heliograph` belongs to another project. */
export const npmScope = `@${owner}`;

/** The image of a registry, without a tag. */
export const imageIn = (registry: string): string => `${registry}/heliograph`;
/** The folder of a registry that holds the chart, for `helm push`. */
export const chartsIn = (registry: string): string => `${registry}/charts`;
/** The chart of a registry, without a version. */
export const chartIn = (registry: string): string => `${chartsIn(registry)}/heliograph`;

/** The image that the release publishes and that the chart installs. */
export const releasedImage = `${imageIn(releaseRegistry)}:${version}`;
