/** OpenClaw's terminal UI in a pseudo terminal, unmodified, against troupe. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import { type Installation, installTroupe, jsonIn, type User } from './installation.ts';
import { Terminal } from './terminal.ts';

let troupe: Installation;
let user: User;
let tui: Terminal;
beforeAll(async () => {
  troupe = await installTroupe();
  user = troupe.user('ann');
  tui = new Terminal(user.startInTerminal(['tui']));
  await tui.sees(/gateway connected \| idle/);
});
afterAll(() => troupe.stop());

const ESCAPE = '\u001b';
const CTRL_C = '\u0003';

/** The history of a session at the gateway. */
const historyOf = async (sessionKey: string): Promise<string> => {
  const params = JSON.stringify({ sessionKey, limit: 50 });
  const out = await user.good(['gateway', 'call', 'chat.history', '--params', params]);
  return JSON.stringify(jsonIn(out).messages);
};

/** The session has no active run. */
const runsEnded = (sessionKey: string): Promise<void> =>
  eventually(async () => {
    const out = await user.good(['gateway', 'call', 'sessions.list', '--params', '{}']);
    const sessions: readonly { key: string; hasActiveRun?: boolean }[] = jsonIn(out).sessions;
    const session = sessions.find(({ key }) => key === sessionKey);
    expect(session).toMatchObject({ hasActiveRun: false });
  }, 120_000);

describe('openclaw tui', () => {
  it('shows the session and the model of the gateway', async () => {
    const shown = await tui.sees(/agent main.* \| session main \| \S*troupe-offline/);
    expect(shown).toMatch(/session agent:main:main/);
  });

  it('sends a message and shows the answer as it is written', async () => {
    await tui.says('[[words:60]] [[pace:20]] slowly', /The actor reads/);
    // At twenty tokens a second, the rest of the sixty words is still missing.
    expect(tui.text).not.toMatch(/connected \| idle/);
    await tui.sees(/connected \| idle/);
    expect(await historyOf('agent:main:main')).toMatch(/The actor reads/);
  });

  it('shows a tool call, and the answer that uses its result', async () => {
    await tui.says('what is 6 * 7?', /calculate/i);
    await tui.sees(/answered: 42/);
    expect(await tui.sees(/connected \| idle/)).toMatch(/connected \| idle/);
  });

  it('/status shows the status of the session in troupe', async () => {
    await tui.says('/status', /state idle/);
    await tui.sees(/connected \| idle/);
    expect(tui.text).not.toMatch(/unknown (method|command)|error/i);
  });

  it('escape stops a long answer', async () => {
    await tui.says('[[words:2000]] [[pace:10]] forever', /The actor reads/);
    tui.mark();
    tui.press(ESCAPE);
    await tui.sees(/abort/i);
    tui.mark();
    expect(await tui.says('what is 5 * 5?', /answered: 25/)).toMatch(/answered: 25/);
  });

  it('/model lists the models of the gateway and selects one', async () => {
    await tui.says('/model', /→ offline\/troupe-offline/);
    tui.mark();
    tui.press('\r');
    expect(await tui.sees(/model set to offline\/troupe-offline/)).toMatch(
      /model set to offline\/troupe-offline/,
    );
  });

  it('/session starts another session, and /sessions lists both', async () => {
    await tui.says('/session kitchen', /session kitchen/);
    await tui.says('repeat kettle', /kettle[^]*connected \| idle/);
    tui.mark();
    await tui.says('/sessions', /kettle \(kitchen\)[^]*The tool calculate/);
    tui.press(ESCAPE);
    expect(await historyOf('agent:main:kitchen')).toMatch(/kettle/);
  });

  it('/new starts a conversation without the history of the previous one', async () => {
    await tui.says('/new', /new session: agent:main:tui-/);
    await tui.says('how many messages?', /You have sent 1 message so far/);
    expect(await tui.sees(/connected \| idle/)).toMatch(/connected \| idle/);
  });

  it('reconnects by itself after kill -9 of the gateway, and continues', async () => {
    await tui.says('/session main', /session main \| \S*troupe-offline/);
    tui.mark();
    await troupe.restart();
    await tui.sees(/gateway (re)?connected|connected \| idle/);
    expect(await tui.says('what is 8 * 8?', /answered: 64/)).toMatch(/answered: 64/);
  });

  it('shows the end of a run that kill -9 interrupted', async () => {
    // Half a minute of text, so that the kill interrupts it.
    await tui.says('[[words:600]] [[pace:20]] through a crash', /The actor reads/);
    tui.mark();
    await troupe.restart();
    // The run continues after the restart. Input before its end would join it.
    await runsEnded('agent:main:main');
    await tui.sees(/connected \| idle/);
    await tui.says('what is 9 * 9?', /answered: 81/);
    const history = await historyOf('agent:main:main');
    expect(history.split('through a crash').length - 1).toBe(1);
  });

  it('ends with ctrl-c twice', async () => {
    tui.mark();
    tui.press(CTRL_C);
    await tui.sees(/press ctrl\+c again/i);
    tui.press(CTRL_C);
    expect(await tui.ends()).toBe(0);
  });
});
