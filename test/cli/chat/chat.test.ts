/** `troupe chat` while an answer runs: commands, approvals, steering. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runEventsTopic } from '../../../protocols/session.ts';
import { MAIN } from '../../channels/gateway/client.ts';
import type { FakeSessionSystem } from '../../channels/gateway/fake-session-system.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { runGateway, TOKEN } from '../gateway.ts';
import { runProgram, startProgram } from '../program.ts';

const at = (url: string) => ['--url', url, '--token', TOKEN];

/** A command of the main session that waits for an approval. */
function askAboutCommand(system: FakeSessionSystem): void {
  const options = ['allow-once', 'allow-always', 'deny'].map((name) => ({ name }));
  system.kept.table('approvals').set('a', {
    id: 'a',
    asked_at: new Date().toISOString(),
    expires_at: new Date().toISOString(),
    by: `default/session/${MAIN}`,
    title: 'main wants to run: rm -r build',
    detail: 'in /work',
    options,
    state: 'asked',
  });
  const about = { callId: 'c', name: 'exec', approvalId: 'a' };
  system.live(MAIN, { stream: 'tool', phase: 'approval', ...about });
}

describe('troupe chat, while an answer runs', () => {
  it('sends commands and prints their answers', async () => {
    const { url } = await runGateway();
    const ended = await runProgram(['chat', ...at(url)], { stdin: '/status\n/hepl\n' });
    expect(ended.stdout).toContain('session agent:main:main (no messages yet)');
    expect(ended.stdout).toContain('Did you mean /help?');
  });

  it('asks about a command that waits for an approval, and sends the decision', async () => {
    const { url, system } = await runGateway();
    const answered: unknown[] = [];
    system.others['approval.answer'] = ({ decision }) => {
      answered.push(decision);
      return { kind: 'answered', result: {} };
    };
    const program = startProgram(['chat', ...at(url)]);
    program.child.stdin?.write('clean up\n');
    await eventually(() => expect(system.running(MAIN)).toBeDefined());
    askAboutCommand(system);
    await eventually(() => expect(program.stderr).toContain('allow this command?  rm -r build'));
    program.child.stdin?.write('a\n');
    await eventually(() => expect(answered).toEqual(['allow-always']));
    system.finish(MAIN, 'cleaned');
    program.child.stdin?.end();
    expect(await program.ended).toMatchObject({ code: 0, stdout: 'cleaned\n' });
  });

  it('prints a joined answer once', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['chat', ...at(url)], { stdin: 'one\ntwo\n' });
    await eventually(() => expect(system.kept.queues.get(MAIN)).toHaveLength(1));
    const { runId: of } = system.kept.queues.get(MAIN)![0]!;
    system.live(MAIN, { stream: 'steer', of, text: 'two' });
    system.finish(MAIN, 'both');
    await eventually(() => expect(system.running(MAIN)).toBe(of));
    system.finish(MAIN, 'both');
    expect(await program.ended).toEqual({
      code: 0,
      stdout: 'both\n',
      stderr: '[added to the running answer]\n',
    });
  });

  it('prints whole paragraphs with --blocks', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['chat', '--blocks', ...at(url)], { stdin: 'one\n' });
    await eventually(() => expect(system.running(MAIN)).toBeDefined());
    const paragraph = `${'A sentence of it. '.repeat(100)}\n\n`;
    system.say(MAIN, `${paragraph}and half a wo`);
    await eventually(() => expect(program.stdout).not.toBe(''));
    expect(paragraph.startsWith(program.stdout)).toBe(true);
    system.finish(MAIN, `${paragraph}and half a word`);
    expect(await program.ended).toMatchObject({ stdout: `${paragraph}and half a word\n` });
  });
});

describe('troupe chat, for replies that no user requested', () => {
  const SECOND = 'agent:second:main';
  /** A run that no user requested, from its start to its end. */
  function say(system: FakeSessionSystem, sessionKey: string, kind: string, text: string): void {
    const origin = { kind, sessionKey: 'agent:other:main', ids: ['s', 't'] };
    const tell = (event: object) =>
      system.bus.publish(runEventsTopic('default', sessionKey), {
        runId: `${kind} ${text}`,
        sessionKey,
        at: 1,
        stream: 'lifecycle',
        ...event,
      });
    tell({ phase: 'start', startedAt: 1, origin });
    const usage = { inputTokens: 1, outputTokens: 1 };
    tell({ phase: 'end', startedAt: 1, endedAt: 2, status: 'ok', text, usage });
  }

  it('prints them between the answers, but none of other sessions or between agents', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['chat', '--agent', 'second', ...at(url)]);
    program.child.stdin?.write('find them\n');
    await eventually(() => expect(system.running(SECOND)).toBeDefined());
    say(system, MAIN, 'subagents', 'of another session');
    say(system, SECOND, 'agent', 'to another agent');
    say(system, SECOND, 'subagents', 'under the sofa');
    system.finish(SECOND, 'they look for them');
    await eventually(() => expect(program.stderr).toContain('sofa'));
    say(system, SECOND, 'announce', 'we have agreed');
    await eventually(() => expect(program.stderr).toContain('agreed'));
    program.child.stdin?.end();
    expect(await program.ended).toEqual({
      code: 0,
      stdout: 'they look for them\n',
      stderr:
        '[2 subagents have ended]\nunder the sofa\n' +
        '[after a conversation with agent:other:main]\nwe have agreed\n',
    });
  });
});

describe('troupe agent', () => {
  it('attaches images, and names a file that it cannot read', async () => {
    const { url, system } = await runGateway({ echo: true });
    const file = join(scratchFolder(), 'dot.png');
    writeFileSync(file, Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(9)]));
    const about = ['agent', '-m', 'what is it?', ...at(url)];
    const good = await runProgram([...about, '--image', file]);
    expect(good).toMatchObject({ code: 0, stdout: 'echo: what is it?\n' });
    const received = system.asked.find(({ event }) => event.type === 'session.receive')?.event;
    expect(received?.['images']).toMatchObject([{ mimeType: 'image/png' }]);
    const bad = await runProgram([...about, '--image', `${file}.none`]);
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain(`${file}.none`);
  });
});

describe('troupe agent, while a command waits for an approval', () => {
  it('prints once which command waits and how to decide it, and keeps waiting', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['agent', '-m', 'clean up', '--json', ...at(url)]);
    await eventually(() => expect(system.running(MAIN)).toBeDefined());
    askAboutCommand(system);
    await eventually(() => expect(program.stderr).toContain('rm -r build'));
    expect(program.stderr).toContain('troupe approvals answer a allow-once --why');
    expect(program.stderr).toContain('allow-always, deny');
    system.finish(MAIN, 'cleaned');
    const { code, stdout, stderr } = await program.ended;
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { text: 'cleaned' }]);
    expect(stderr.split('rm -r build')).toHaveLength(2);
  });
});
