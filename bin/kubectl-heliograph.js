#!/usr/bin/env node
import { isNodeNewEnough } from "./hand-over.js";

if (isNodeNewEnough("kubectl-heliograph", import.meta.url)) await import("../cli/kubectl-heliograph.ts");
