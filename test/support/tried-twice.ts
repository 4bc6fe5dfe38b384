import type { Reporter, TestCase } from "vitest/node";

/** Names, at the end of a run, the tests that passed only when they were run once more. Source: docs/decisions/0006. */
export class TriedTwice implements Reporter {
  readonly #names: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if ((test.diagnostic()?.retryCount ?? 0) > 0 && test.result().state === "passed") {
      this.#names.push(`${test.module.relativeModuleId} > ${test.fullName}`);
    }
  }

  onTestRunEnd(): void {
    if (this.#names.length === 0) return;
    process.stdout.write(`\n${this.#names.length} passed only when tried twice:\n${this.#names.map((name) => `  ${name}\n`).join("")}`);
  }
}
