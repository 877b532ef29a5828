import { describe, expect, test } from 'vitest';
import { COMMANDS, helpText, readCommand } from '../../../channels/commands/parse.ts';

const commandOf = (message: string) => {
  const read = readCommand(message);
  return read.kind === 'command' ? read.command : read.kind;
};

describe('a message that starts with a slash', () => {
  test.each([
    ['/new', { name: 'new' }],
    ['  /RESET  ', { name: 'reset' }],
    ['/stop', { name: 'stop' }],
    ['/abort', { name: 'stop' }],
    ['/compact', { name: 'compact' }],
    [
      '/compact keep the names\nand dates',
      { name: 'compact', instructions: 'keep the names\nand dates' },
    ],
    ['/status', { name: 'status' }],
    ['/usage', { name: 'usage' }],
    ['/help', { name: 'help' }],
    ['/queue collect', { name: 'queue', value: 'collect' }],
    ['/queue', { name: 'queue', value: undefined }],
    ['/queue default', { name: 'queue', value: null }],
    ['/model anthropic/claude', { name: 'model', value: 'anthropic/claude' }],
    ['/think High', { name: 'think', value: 'high' }],
    ['/thinking off', { name: 'think', value: 'off' }],
    ['/verbose full', { name: 'verbose', value: 'full' }],
    ['/reasoning on', { name: 'reasoning', value: true }],
    ['/reasoning off', { name: 'reasoning', value: false }],
    ['/reasoning default', { name: 'reasoning', value: null }],
  ])('is a command: %s', (message, command) => {
    expect(commandOf(message)).toEqual(command);
  });

  test.each([
    '/etc/hosts is empty',
    '/',
    '//',
    '/1',
    'say /new',
    '/usr',
    '/summarize this',
    '/now',
  ])('is sent to the model when it is not a command: %s', (message) => {
    expect(readCommand(message)).toEqual({ kind: 'text' });
  });

  test.each([
    ['/staus', 'Did you mean /status?'],
    ['/hepl', 'Did you mean /help?'],
    ['/modell x', 'Did you mean /model?'],
    ['/queue sometimes', 'Write /queue [steer|followup|collect|interrupt]'],
    ['/verbose loud', '“loud” is not a value of /verbose'],
    ['/model a b', 'is not a value of /model'],
    ['/new please', '/new has no parameters'],
  ])('is answered without an effect when it has a mistake: %s', (message, text) => {
    expect(readCommand(message)).toMatchObject({
      kind: 'wrong',
      text: expect.stringContaining(text),
    });
  });
});

test('help names every command', () => {
  for (const { name } of COMMANDS) expect(helpText()).toContain(`/${name}`);
});
