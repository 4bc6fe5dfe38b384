#!/usr/bin/env node
// The program `heliograph`. Its commands are in `commands.ts`.
import { enableCompileCache } from "node:module";

// Saves compiled code for faster restarts, so it comes before every other module. Without a writable temporary folder
// it has no effect.
enableCompileCache();
const { dispatch } = await import("./dispatch.ts");
await dispatch();
