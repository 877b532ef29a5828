/** Both SDKs while the whole program is killed (SIGKILL) during their calls and started again. */
import { describe, expect, it } from 'vitest';
import { TroupeClient } from '../../../protocols/sdk/typescript/client.js';
import { reservePort } from '../../servers/reserve-port.ts';
import { runProgram, startProgram } from '../../cli/program.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { startScenario, withoutPython } from './python.ts';

/** A separate troupe that can be killed and started again. */
const open = async () => {
  const home = scratchFolder();
  const port = String(await reservePort());
  const start = async () => {
    const troupe = startProgram(['start', '--port', port], { home });
    await eventually(() => expect(troupe.stdout).toContain('http:'));
    return troupe;
  };
  let running = await start();
  const { stdout } = await runProgram(
    ['token', '--tenant', 'conformance', '--sub', 'ann', '--roles', 'writer'],
    { home },
  );
  const restart = async () => {
    running.child.kill('SIGKILL');
    await running.ended;
    running = await start();
  };
  return { url: `http://127.0.0.1:${port}`, token: stdout.trim(), restart };
};

describe('a call during which troupe is killed', () => {
  it('ends with its result, which a repeat of its key returns (TypeScript)', async () => {
    const { url, token, restart } = await open();
    const principal = { sub: 'ann', roles: ['writer'] };
    const client = new TroupeClient({
      url,
      token,
      tenant: 'conformance',
      principal,
      pauseMsMax: 500,
    });
    const key = { idempotencyKey: 'slowly' };
    const begun = await client.submit('conformance.run_slowly', { seconds: 3 }, key);
    expect(begun.state).toBe('RUNNING');
    const ended = client.finished(begun);
    await restart();
    expect(await ended).toMatchObject({ state: 'SUCCEEDED', result: { seconds: 3 } });
    const again = await client.call('conformance.run_slowly', { seconds: 3 }, key);
    expect(again.task_id).toBe(begun.task_id);
  });

  it('ends with its result (Python)', async (context) => {
    context.skip(withoutPython !== undefined, withoutPython);
    const { url, token, restart } = await open();
    const env = { URL: url, TOKEN: token, SUB: 'ann' };
    const running = startScenario('slowly', env);
    await eventually(() => expect(running.said).toEqual(['RUNNING']));
    await restart();
    expect(await running.ended).toEqual({ state: 'SUCCEEDED', seconds: 3 });
  });
});
