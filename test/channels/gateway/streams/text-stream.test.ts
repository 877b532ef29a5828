import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TextStream } from '../../../../channels/gateway/streams/text-stream.ts';

/** Follows a stream as a client does. */
const follower = () => {
  let text = '';
  return {
    take(stream: TextStream) {
      const { delta, replace } = stream.take();
      text = replace ? delta : text + delta;
    },
    get text() {
      return text;
    },
  };
};

describe('TextStream', () => {
  test('a receiver of every delta has the text, whenever a call is repeated or a delta is taken', () => {
    const step = fc.record({
      delta: fc.string({ maxLength: 8 }),
      back: fc.option(fc.nat(30), { freq: 4 }),
      taken: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const stream = new TextStream();
        const watcher = follower();
        let model = '';
        for (const { delta, back, taken } of steps) {
          const offset = Math.max(0, model.length - (back ?? 0));
          model = model.slice(0, offset) + delta;
          stream.apply(delta, offset);
          expect(stream.text).toBe(model);
          if (taken && stream.pending) watcher.take(stream);
        }
        if (stream.pending) watcher.take(stream);
        expect(watcher.text).toBe(model);
        expect(stream.pending).toBe(false);
      }),
    );
  });

  test('a lost delta leaves one mark, and later text follows it', () => {
    const stream = new TextStream();
    stream.apply('The ', 0);
    stream.apply('fox', 10);
    stream.apply(' jumps', 13);
    expect(stream.text).toBe('The …fox jumps');
    stream.apply('A fox', 0);
    stream.apply(' sits', 5);
    expect(stream.text).toBe('A fox sits');
  });

  test('a stream that is received from its middle starts with the mark', () => {
    const stream = new TextStream();
    stream.apply('and so on', 700);
    stream.apply('.', 709);
    expect(stream.text).toBe('…and so on.');
  });

  test('never grows beyond its bound, and restarts within it', () => {
    const stream = new TextStream(10);
    stream.apply('12345678', 0);
    stream.apply('9abcdef', 8);
    stream.apply('ghi', 15);
    expect(stream.text).toBe('123456789a');
    stream.apply('new', 0);
    expect(stream.text).toBe('new');
    expect(stream.take()).toEqual({ delta: 'new', replace: false });
  });
});
