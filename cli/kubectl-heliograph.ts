#!/usr/bin/env node
// The program `kubectl-heliograph`, which kubectl runs for `kubectl heliograph`: `heliograph` through a cluster.
import { enableCompileCache } from "node:module";

enableCompileCache();
process.env["HELIOGRAPH_KUBERNETES"] = "true";
delete process.env["HELIOGRAPH_URL"];
const { commandFirst } = await import("./command-first.ts");
const { dispatch } = await import("./dispatch.ts");
await dispatch(commandFirst(process.argv.slice(2)));
