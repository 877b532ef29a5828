/**
 * A vitest reporter that writes the run's result as JSON for tools/test.mjs, beside whatever other
 * reporter prints. The file is named by TROUPE_TEST_RESULT.
 */
import { writeFileSync } from 'node:fs';

const skipOf = (test) => ({ name: test.fullName, why: test.result().note });

export default class TestReport {
  onTestRunEnd(modules, errors, reason) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state) => tests.filter((test) => test.result().state === state).length;
    // A file that cannot be loaded, or a hook of a suite that throws, leaves no failed test
    // behind.
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
