/** OpenClaw's terminal UI in a pseudo terminal, unmodified, against troupe (GW4). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

/** What the gateway has of a session. */
const historyOf = async (sessionKey: string): Promise<string> => {
  const params = JSON.stringify({ sessionKey, limit: 50 });
  const out = await user.good(['gateway', 'call', 'chat.history', '--params', params]);
  return JSON.stringify(jsonIn(out).messages);
};

describe('openclaw tui', () => {
  it('shows the session and the model of the gateway', async () => {
    const shown = await tui.sees(/agent main.* \| session main \| \S*troupe-offline/);
    expect(shown).toMatch(/session agent:main:main/);
  });

  it('sends a message and shows the answer as it is written', async () => {
    await tui.types('[[words:60]] [[pace:20]] slowly');
    await tui.sees(/The actor reads/);
    // The rest of sixty words at twenty tokens a second is still to come.
    expect(tui.text).not.toMatch(/connected \| idle/);
    await tui.sees(/connected \| idle/);
    expect(await historyOf('agent:main:main')).toMatch(/The actor reads/);
  });

  it('shows a tool that was used, and the answer made of it', async () => {
    await tui.types('what is 6 * 7?');
    await tui.sees(/calculate/i);
    await tui.sees(/answered: 42/);
    await tui.sees(/connected \| idle/);
  });

  it('/status says what troupe says of the session', async () => {
    await tui.types('/status');
    await tui.sees(/Session: agent:main:main|session +agent:main:main/i);
    await tui.sees(/connected \| idle/);
    expect(tui.text).not.toMatch(/unknown (method|command)|error/i);
  });

  it('escape stops an answer that is long', async () => {
    await tui.types('[[words:2000]] [[pace:10]] for ever');
    await tui.sees(/The actor reads/);
    tui.mark();
    tui.press(ESCAPE);
    await tui.sees(/abort/i);
    tui.mark();
    await tui.types('what is 5 * 5?');
    await tui.sees(/answered: 25/);
  });

  it('/model offers the models of the gateway and takes one', async () => {
    await tui.types('/model');
    await tui.sees(/troupe-offline/);
    tui.mark();
    tui.press('\r');
    await tui.sees(/model set to|connected/i);
    expect(tui.text).not.toMatch(/failed|unknown method/i);
  });

  it('/session begins another session, and /sessions lists both', async () => {
    await tui.types('/session kitchen');
    await tui.sees(/session kitchen/);
    await tui.types('repeat kettle');
    await tui.sees(/kettle[^]*connected \| idle/);
    tui.mark();
    await tui.types('/sessions');
    // By what was said in them: the newest first.
    await tui.sees(/kettle \(kitchen\)[^]*The tool calculate/);
    tui.press(ESCAPE);
    expect(await historyOf('agent:main:kitchen')).toMatch(/kettle/);
  });

  it('/new begins a conversation that knows nothing of the one before', async () => {
    await tui.types('/new');
    await tui.sees(/new session: agent:main:tui-/);
    await tui.types('how many messages?');
    await tui.sees(/You have sent 1 message so far/);
    await tui.sees(/connected \| idle/);
  });

  it('comes back by itself after kill -9 of the gateway, and goes on', async () => {
    await tui.types('/session main');
    await tui.sees(/session main \| \S*troupe-offline/);
    tui.mark();
    await troupe.restart();
    await tui.sees(/gateway (re)?connected|connected \| idle/);
    await tui.types('what is 8 * 8?');
    await tui.sees(/answered: 64/);
  });

  it('shows after kill -9 in a run how the run ended', async () => {
    await tui.types('[[words:120]] [[pace:20]] through a crash');
    await tui.sees(/The actor reads/);
    tui.mark();
    await troupe.restart();
    await tui.sees(/connected \| idle/);
    await tui.types('what is 9 * 9?');
    await tui.sees(/answered: 81/);
    const history = await historyOf('agent:main:main');
    expect(history.split('through a crash').length - 1).toBe(1);
  });

  it('ends with ctrl-c twice', async () => {
    tui.mark();
    tui.press(CTRL_C);
    await tui.sees(/press ctrl\+c again/i);
    tui.press(CTRL_C);
    await tui.ends();
  });
});
