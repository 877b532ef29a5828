/**
 * A vitest reporter that writes the result of the run as JSON for tools/test.mjs, in addition to
 * other reporters. TROUPE_TEST_RESULT names the file. `TROUPE_TEST_SECONDS=record` also records how
 * long each file took (`test-files.mjs`).
 */
import { writeFileSync } from 'node:fs';
import { recordSeconds } from './test-files.mjs';

const passedIn = (module) =>
  [...module.children.allTests()].filter((test) => test.result().state === 'passed').length;
const firstLine = (error) => String(error?.message ?? error).split('\n')[0];
const failureOf = (where, name, [error]) =>
  `${where}${name ? ` > ${name}` : ''}: ${firstLine(error)}`;

export default class TestReport {
  onTestRunEnd(modules, errors, reason) {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state) => tests.filter((test) => test.result().state === state).length;
    // A file that cannot be loaded, or a suite hook that throws, causes no failed test, so it is
    // counted separately.
    const brokenSuites = modules.flatMap((module) =>
      [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0),
    );
    const failed = tests.filter((test) => test.result().state === 'failed');
    const skipped = tests.filter((test) => test.result().state === 'skipped');
    const fileOf = (task) => (task.module ?? task).relativeModuleId;
    const result = {
      reason,
      passed: count('passed'),
      failures: [
        ...failed.map((test) => failureOf(fileOf(test), test.fullName, test.result().errors)),
        ...brokenSuites.map((suite) => failureOf(fileOf(suite), suite.fullName, suite.errors())),
        ...errors.map((error) =>
          failureOf(error.VITEST_TEST_PATH ?? 'no test', 'unhandled error', [error]),
        ),
      ],
      failedFiles: modules
        .filter((module) => module.state() === 'failed')
        .map((module) => ({ path: fileOf(module), passed: passedIn(module) })),
      errors: errors.length,
      unfinished: count('pending'),
      skipped: skipped.map((test) => ({
        path: fileOf(test),
        name: test.fullName,
        why: test.result().note,
      })),
    };
    writeFileSync(process.env.TROUPE_TEST_RESULT, JSON.stringify(result));
    if (process.env.TROUPE_TEST_SECONDS === 'record')
      recordSeconds(modules.map((module) => [fileOf(module), module.diagnostic().duration]));
  }
}
