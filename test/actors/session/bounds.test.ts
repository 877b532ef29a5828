/** How large a session's row and turns can grow (I8): a turn beyond its bound ends the session. */
import { describe, expect, it } from 'vitest';
import { encode } from '../../../protocols/codec.ts';
import { answer, call, Driven, resultOf, type Said } from './driven.ts';

const MIB = 2 ** 20;
const TURN_BYTES = 12 * MIB;
const image = (bytes: number) => ({ mimeType: 'image/png', data: 'A'.repeat(bytes) }) as const;

const bytesOf = (session: Driven, said: Said): number =>
  encode(session.context).length +
  encode(said.entries).length +
  encode([...said.rows('runs'), ...said.rows('sessions')]).length;

const isAccepted = ({ answers }: Said): boolean => answers[0]?.error === undefined;

describe('what waits for a session', () => {
  it('is refused when it exceeds what one turn can accept, whatever the overflow policy', () => {
    const session = new Driven();
    session.begin('r1', { queue: { cap: 100 } });
    const answers = ['r2', 'r3', 'r4', 'r5'].flatMap(
      (runId) => session.receive(runId, { images: [image(1.5 * MIB)] }).answers,
    );
    expect(answers.map(({ error }) => error?.code)).toEqual([
      undefined,
      undefined,
      'RATE_LIMIT_EXCEEDED',
      'RATE_LIMIT_EXCEEDED',
    ]);
    expect(answers[2]?.error?.message).toContain('too large to add this one');
    expect(encode(session.context).length).toBeLessThan(5 * MIB);
  });

  it('may be one message of the largest size that an entry point accepts', () => {
    const session = new Driven();
    session.begin('r1');
    const [answered] = session.receive('r2', { text: 'a'.repeat(3.9 * MIB) }).answers;
    expect(answered?.error).toBeUndefined();
  });

  it('joins a run beside the largest results within one turn', () => {
    const session = new Driven();
    session.begin('r1', { queue: { cap: 100 } });
    session.done('model', answer([call('a')]));
    for (let n = 0; n < 40; n++) session.receive(`s${n}`, { images: [image(0.9 * MIB)] });
    const results = [{ ...resultOf('a'), images: [image(3.9 * MIB)] }];
    const said = session.done('tools', results);
    expect(said.entries.length).toBeGreaterThan(4);
    expect(bytesOf(session, said)).toBeLessThan(TURN_BYTES);
  });
});

describe('messages that join a run', () => {
  it('end with it within one turn, however many they are and however long its answer', () => {
    const session = new Driven();
    session.begin('r1', { limits: { turnsMax: 1_000 }, queue: { cap: 100 } });
    let accepted = 0;
    for (let turn = 0; turn < 40; turn++) {
      session.done('model', answer([call(`c${turn}`, { args: turn })]));
      for (let n = 0; n < 16; n++) accepted += isAccepted(session.receive(`s${turn}.${n}`)) ? 1 : 0;
      session.done('tools', [resultOf(`c${turn}`)]);
    }
    expect(session.context.run!.joined).toHaveLength(256);
    const said = session.done('model', answer([], { text: '語'.repeat(60_000) }));
    expect(said.rows('runs').length).toBeGreaterThan(256);
    expect(bytesOf(session, said)).toBeLessThan(TURN_BYTES);
    expect(session.rows.get('r1')?.text).toHaveLength(32 * 1024);
    expect(session.rows.get('s0.0')?.text).toHaveLength(1024);
    const next = 1 + session.context.run!.joined.length + session.context.queue.length;
    expect(256 + next).toBe(accepted);
  });

  it('receive the whole reply when they are few', () => {
    const session = new Driven();
    session.begin('r1');
    session.receive('r2');
    session.done('model', answer([call('a')]));
    const said = session.done('model', answer([], { text: 'a'.repeat(40_000) }));
    const lengths = said.events.flatMap((event) => ('text' in event ? [event.text?.length] : []));
    expect(lengths).toEqual([40_000, 40_000]);
    expect(session.rows.get('r2')?.text).toHaveLength(32 * 1024);
  });
});

describe('messages that were folded', () => {
  it('have a run of their own when those behind them are aborted', () => {
    const session = new Driven();
    session.begin('r1', { queue: { cap: 1 } });
    for (const runId of ['r2', 'r3', 'r4']) session.receive(runId, { queue: 'followup' });
    session.send({ type: 'session.abort', runId: 'r4' });
    expect(session.context.queue).toEqual([]);
    session.done('model', answer([]));
    expect(session.context.run).toMatchObject({ runId: 'r2', joined: [{ runId: 'r3' }] });
    expect(session.entries.at(-1)).toMatchObject({
      text: expect.stringMatching(/2 earlier messages[^]*text of r2[^]*text of r3/) as string,
    });
    session.admit('r2');
    session.done('model', answer([]));
    expect(session.rows.get('r2')?.status).toBe('ok');
    expect(session.rows.get('r3')).toMatchObject({ status: 'ok', joined: 'r2' });
    expect(session.state).toBe('idle');
  });
});
