/**
 * OpenClaw's session keys name the same conversations here, and clients may continue to use them.
 */
import { expect, it } from 'vitest';
import { fullSessionKey } from '../../operations/sessions/session-key.ts';
import { importedKey, keyOfOpenClaw } from '../../protocols/openclaw-key.ts';
import { parseSessionKey } from '../../protocols/session-key.ts';

it.each([
  ['agent:main:main', 'agent:main:main'],
  ['agent:main:direct:42', 'agent:main:dm:42'],
  ['agent:main:telegram:direct:42', 'agent:main:telegram:dm:42'],
  ['agent:main:telegram:work:direct:42', 'agent:main:telegram:work:dm:42'],
  ['agent:main:telegram:group:-100', 'agent:main:telegram:group:-100'],
  ['agent:main:telegram:group:-100:topic:7', 'agent:main:telegram:group:-100:topic:7'],
  ['agent:main:discord:channel:99', 'agent:main:discord:group:99'],
  ['agent:main:slack:channel:c1:thread:17.2', 'agent:main:slack:group:c1:topic:17.2'],
  ['agent:main:slack:channel:c024be91l:thread:17.2', 'agent:main:slack:group:C024BE91L:topic:17.2'],
  ['agent:main:slack:direct:u024be7lh', 'agent:main:slack:dm:U024BE7LH'],
  ['agent:main:slack:channel:customers', 'agent:main:slack:group:customers'],
  ['agent:Research:Telegram:Direct:42', 'agent:research:telegram:dm:42'],
  ['agent:My Agent:Work', 'agent:my-agent:work'],
  ['agent:main:signal:group:AbC=', 'agent:main:signal:group:AbC='],
  ['agent:main:Matrix:room:!Ab:example.org', 'agent:main:matrix:group:!Ab%3Aexample.org'],
  ['agent:main:cron:job-1', 'agent:main:cron:job-1'],
])('%s is %s', (there, here) => {
  expect(keyOfOpenClaw(there)).toBe(here);
  expect(importedKey(there, 'other')).toBe(here);
  expect(parseSessionKey(here).type).not.toBe('other');
});

it('a key without a form here becomes a session of its agent, and nothing is lost', () => {
  expect(keyOfOpenClaw('agent:main:cron:job:run:1')).toBeUndefined();
  expect(importedKey('agent:main:cron:job:run:1', 'x')).toBe('agent:main:cron%3Ajob%3Arun%3A1');
  expect(importedKey('agent:main:a:direct:1:thread:2', 'x')).toBe(
    'agent:main:a%3Adirect%3A1%3Athread%3A2',
  );
  expect(importedKey('global', 'X')).toBe('agent:x:global');
});

it('clients may name a session as OpenClaw does', () => {
  const names = { defaultAgentId: 'main', mainKey: 'main', agents: [{ id: 'main', model: 'm' }] };
  const sessionKey = 'agent:main:telegram:direct:42';
  expect(fullSessionKey(names, { sessionKey }).sessionKey).toBe('agent:main:telegram:dm:42');
  const own = (key: string, agentId?: string) =>
    fullSessionKey(names, { sessionKey: key, agentId }).sessionKey;
  expect(own('agent:Main:work')).toBe('agent:main:work');
  expect(own('agent:Main:work', 'MAIN')).toBe('agent:main:work');
  expect(own('agent:main:slack:group:c024be91l')).toBe('agent:main:slack:group:C024BE91L');
  expect(own('agent:main:Work')).toBe('agent:main:Work');
  expect(() => fullSessionKey(names, { sessionKey: 'agent:main:a:b:c' })).toThrow(
    'not a session key',
  );
});
