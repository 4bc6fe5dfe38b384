// The files of npm's `bin`: plain JavaScript, since a Node that cannot run the product has to read them. They hold no
// part of a program.
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The oldest Node that runs the product: package.json pins this major version. */
const majorMin = 24;
const usageCode = 2;
/** Signals of a terminal and of a supervisor. The other process gets SIGINT by itself from a terminal, and only there. */
const signals = /** @type {const} */ (["SIGTERM", "SIGINT", "SIGHUP"]);

/**
 * True where this Node can run the product. If it is too old, the Node of the checkout takes over; without one, a
 * sentence says what to do.
 *
 * @param {string} program name for messages
 * @param {string} entry URL of the started file
 * @returns {boolean}
 */
export function isNodeNewEnough(program, entry) {
  if (parseInt(process.versions.node, 10) >= majorMin) return true;
  const pinned = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
  if (existsSync(pinned) && realpathSync(pinned) !== realpathSync(process.execPath)) handOver(program, entry, pinned);
  else rejectVersion(program);
  return false;
}

/**
 * @param {string} program
 * @param {string} entry
 * @param {string} node
 */
function handOver(program, entry, node) {
  const child = spawn(node, [fileURLToPath(entry), ...process.argv.slice(2)], { stdio: "inherit" });
  const hasTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  for (const signal of signals)
    process.on(signal, () => (signal === "SIGINT" && hasTerminal ? undefined : child.kill(signal)));
  child.once("error", () => rejectVersion(program));
  child.once("exit", (code, signal) => {
    if (signal === null) process.exitCode = code ?? usageCode;
    else endBy(signal);
  });
}

/** @param {NodeJS.Signals} signal */
function endBy(signal) {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** @param {string} program */
function rejectVersion(program) {
  const isCheckout = existsSync(fileURLToPath(new URL("../Makefile", import.meta.url)));
  const advice = isCheckout
    ? "run `make install` in the checkout, which installs Node.js 24 there"
    : "install Node.js 24 or newer (https://nodejs.org)";
  process.stderr.write(`${program}: Node.js ${process.version} is too old: ${advice}.\n`);
  process.exitCode = usageCode;
}
