// Names at the end of a run the tests that needed a second try, and why their first failed: they do not fail the run, and must not be overlooked.
import type { Reporter, TestCase, TestResult } from "@playwright/test/reporter";

export default class Summary implements Reporter {
  readonly #failed = new Map<TestCase, string>();

  onTestEnd(test: TestCase, result: TestResult): void {
    if (result.status !== "passed" && result.status !== "skipped" && !this.#failed.has(test)) this.#failed.set(test, result.error?.message ?? result.status);
  }

  onEnd(): void {
    const again = [...this.#failed].filter(([test]) => test.outcome() === "flaky");
    if (again.length === 0) return;
    console.log(`\nNEEDED A SECOND TRY: ${again.length} of the browser tests. Each is a fault, of the test or of the page, until it is explained:`);
    for (const [test, why] of again) console.log(`  ${test.titlePath().filter(Boolean).join(" › ")}\n    ${why.split("\n", 1)[0]}`);
  }

  printsToStdio(): boolean {
    return false; // the list stays
  }
}
