#!/usr/bin/env node
import { isNodeNewEnough } from "./hand-over.js";

const program = "kubectl_complete-heliograph";
if (isNodeNewEnough(program, import.meta.url)) await import("../cli/kubectl-complete.ts");
