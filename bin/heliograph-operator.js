#!/usr/bin/env node
import { isNodeNewEnough } from "./hand-over.js";

if (isNodeNewEnough("heliograph-operator", import.meta.url)) await import("../cli/operator/heliograph-operator.ts");
