/**
 * A fork copies positions of another transcript: a wrong one would show a model what a compaction
 * replaced, or hide what it kept.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { copy } from '../../../../actors/session/effects/copy.ts';
import { initialContext } from '../../../../actors/session/run/run.ts';
import type { CopyRest, SessionContext } from '../../../../actors/session/types.ts';
import { shownOf } from '../../../../agent/context/conversation.ts';
import { type Address, address } from '../../../../protocols/address.ts';
import type { SessionEntry } from '../../../../protocols/session.ts';
import type { EffectContext, TranscriptEntry } from '../../../../runtime/index.ts';

const SOURCE = address('default', 'session', 'agent:main:main');
const FORK = address('default', 'session', 'agent:main:fork');
const FROM_KEY = 'agent:main:main';
const context = initialContext({ self: SOURCE, tenant: 'default', key: FROM_KEY, now: 1 });

type Written = { readonly kind: SessionEntry['type']; readonly gap: number; readonly kept: number };
const writing = fc.array(
  fc.record({
    kind: fc.constantFrom<SessionEntry['type']>(
      ...(['user', 'user', 'assistant', 'assistant', 'prompt', 'compaction', 'reset'] as const),
    ),
    gap: fc.nat(3),
    kept: fc.nat(6),
  }),
  { minLength: 1, maxLength: 40 },
);

/** One entry per turn; positions have gaps. */
function transcriptOf(written: readonly Written[]): TranscriptEntry[] {
  const entries: TranscriptEntry[] = [];
  for (const [at, { kind, gap, kept }] of written.entries()) {
    const position = (entries.at(-1)?.position ?? 0) + 1 + gap;
    const keptFrom = entries[Math.max(0, entries.length - kept)]?.position ?? position;
    const entry = { ...entryOf(kind, at), ...(kind === 'compaction' ? { keptFrom } : {}) };
    entries.push({ position, at, turn: at + 1, entry });
  }
  return entries;
}
const entryOf = (type: SessionEntry['type'], n: number) => ({
  type,
  runId: 'r',
  text: `said ${n}`,
  summary: `summary ${n}`,
  system: `prompt ${n}`,
  usage: { inputTokens: 1, outputTokens: 1 },
  at: n,
});

/** The transcript of the fork, which stores each page before the next is read. */
async function forkedAt(
  turn: number,
  source: readonly TranscriptEntry[],
  session: Partial<SessionContext> = {},
) {
  const own: TranscriptEntry[] = [];
  const reader = (all: readonly TranscriptEntry[]) => ({
    // Shorter pages than asked for, as a log returns them that is far behind its cache.
    read: ({ from = 1 } = {}) =>
      Promise.resolve(all.filter(({ position }) => position >= from).slice(0, 7)),
    last: () => Promise.resolve(all.at(-1)?.position ?? 0),
  });
  const effect = {
    actor: FORK,
    signal: new AbortController().signal,
    transcript: (actor: Address = FORK) => reader(actor === SOURCE ? source : own),
    past: () => Promise.resolve({ turn, at: turn, context: { ...context, ...session } }),
  } as Partial<EffectContext> as EffectContext;
  const from = { key: FROM_KEY, turn };
  for (let rest: CopyRest | undefined; ; ) {
    const page = await copy.run({ tenant: 'default', from, ...(rest ? { rest } : {}) }, effect);
    for (const entry of page.entries) own.push({ position: own.length * 3 + 2, at: 0, entry });
    rest = page.rest;
    if (!rest) return own;
  }
}

const seen = (entries: readonly TranscriptEntry[]) => {
  const { summary, entries: shown } = shownOf(entries);
  return [summary, ...shown.map(({ entry }) => (entry as { text?: string }).text)];
};

it('a model sees in a fork what it saw in the session at that turn', async () => {
  await fc.assert(
    fc.asyncProperty(writing, fc.nat(39), async (written, last) => {
      const source = transcriptOf(written);
      const turn = Math.min(last + 1, source.length);
      const own = await forkedAt(turn, source);
      expect(seen(own)).toEqual(seen(source.slice(0, turn)));
      for (const { entry } of own) {
        expect(entry).not.toHaveProperty('usage.inputTokens', entry.type === 'assistant' ? 1 : 0);
        expect(entry['copied']).toMatchObject({ key: FROM_KEY });
      }
    }),
    { numRuns: 300 },
  );
});

it('copies a long conversation in pages', async () => {
  const written = Array.from({ length: 900 }, () => ({ kind: 'user' as const, gap: 0, kept: 0 }));
  const source = transcriptOf(written);
  expect(seen(await forkedAt(777, source))).toEqual(seen(source.slice(0, 777)));
});

it('refuses a turn at which the session was itself being forked, and a removed transcript', async () => {
  const source = transcriptOf([{ kind: 'user', gap: 0, kept: 0 }]);
  const fork = { reply: null, copied: 0 };
  await expect(forkedAt(1, source, { fork })).rejects.toThrow('choose a later turn');
  await expect(forkedAt(1, [], { length: 3 })).rejects.toThrow('was removed');
});
