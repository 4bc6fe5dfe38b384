#!/usr/bin/env node
import { isNodeNewEnough } from "./hand-over.js";

if (isNodeNewEnough("heliograph", import.meta.url)) await import("../cli/heliograph.ts");
