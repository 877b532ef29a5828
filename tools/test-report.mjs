/**
 * A vitest reporter that writes the result of the run as JSON for tools/test.mjs, in addition to
 * other reporters. TROUPE_TEST_RESULT names the file.
 */
import { writeFileSync } from 'node:fs';

const skipOf = (test) => ({ name: test.fullName, why: test.result().note });

export default class TestReport {
  onTestRunEnd(modules, errors, reason) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state) => tests.filter((test) => test.result().state === state).length;
    // A file that cannot be loaded, or a suite hook that throws, causes no failed test, so it is
    // counted separately.
    const brokenSuites = modules.flatMap((module) =>
      [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0),
    );
    const skipped = tests.filter((test) => test.result().state === 'skipped');
    const result = {
      reason,
      passed: count('passed'),
      failed: count('failed') + brokenSuites.length + errors.length,
      unfinished: count('pending'),
      skipped: skipped.map(skipOf),
    };
    writeFileSync(process.env.TROUPE_TEST_RESULT, JSON.stringify(result));
  }
}
