/** The time limit of a check, in a process that does not have the processor for a while. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { bundle } from '../log/child.ts';

test.skipIf(process.platform === 'win32')(
  'a process that was stopped during a check does not blame the schema',
  async () => {
    const program = await bundle(join(import.meta.dirname, 'slow-check.program.ts'));
    onTestFinished(() => program.remove());
    const child = program.start([]);
    onTestFinished(() => void child.process.kill('SIGKILL'));
    await eventually(() => expect(child.lines()).toEqual(['begins']));
    child.process.kill('SIGSTOP');
    await sleep(400);
    child.process.kill('SIGCONT');
    expect(await child.ended).toBe(0);
    expect(child.lines()).toEqual(['begins', '[]']);
  },
);
