#!/usr/bin/env node
import { isNodeNewEnough } from "./hand-over.js";

if (isNodeNewEnough("kubectl-heliograph", import.meta.url))
  await import("../runtime/cli/kubectl/kubectl-heliograph.ts");
