import { describe } from "vitest";
import { nodeLayout } from "./node/layout.ts";
import { machineFacts, nodeProblems } from "./node/preflight.ts";
import { providerName } from "./provider.ts";

/** What keeps this machine from running a node, one sentence each. */
export const nodeMissing = nodeProblems(machineFacts(nodeLayout()));

/** `describe` for what needs a node of this machine: counted as skipped where there can be none. */
export const describeOnNode = nodeMissing.length > 0 ? describe.skip : describe;

/**
 * `describe` for what runs on the cluster that `CLUSTER` chooses: counted as skipped where that is a node and there can
 * be none.
 */
export const describeOnCluster = (await providerName()) === "node" ? describeOnNode : describe;
