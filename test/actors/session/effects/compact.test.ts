/** Compaction of a session's context. */
import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { conversationFrom } from '../../../../agent/context/conversation.ts';
import type { ModelSettings } from '../../../../agent/models/catalog.ts';
import { compact } from '../../../../actors/session/effects/compact.ts';
import type { CompactInput } from '../../../../actors/session/types.ts';
import type { SessionEntry } from '../../../../protocols/session.ts';
import { startAnthropicServer } from '../../../servers/anthropic-server.ts';
import { startOpenAiServer } from '../../../servers/openai-server.ts';
import type { ScriptedServer } from '../../../servers/scripted-server.ts';
import { session, settings, stage, type StageOptions } from './stage.ts';

const input: CompactInput = { ...session, runId: '', from: 1 };
const words = (text: string): SessionEntry[] => [
  { type: 'user', runId: text, text, at: 0 },
  { type: 'assistant', runId: text, text: `re: ${text}`, model: 'm', stop: 'end', at: 0 },
  { type: 'run.end', runId: text, status: 'ok', at: 0 },
];
const talk = ['tea', 'books', 'rain'].flatMap(words);

async function onStage(options: StageOptions = {}) {
  const on = await stage({ entries: talk, ...options });
  return {
    ...on,
    shorten: (some: Partial<CompactInput> = {}, id?: string) =>
      on.run((context) => compact.run({ ...input, ...some }, context), id, compact.workspace),
    memory: async (): Promise<string[]> => {
      const texts: string[] = [];
      await on.inWorkspace(async (path) => {
        const folder = join(path, 'memory');
        const names = await readdir(folder).catch(() => []);
        for (const name of names) texts.push(await readFile(join(folder, name), 'utf8'));
      });
      return texts;
    },
    end: () => rm(on.folder, { recursive: true, force: true }),
  };
}

type Remote = {
  readonly name: string;
  readonly start: () => Promise<ScriptedServer>;
  readonly api: 'anthropic-messages' | 'openai-responses' | 'openai-completions';
  readonly model: string;
  /** the server's response to every request */
  readonly inputTokens: number;
};
const remotes: Remote[] = [
  {
    name: 'Anthropic',
    start: startAnthropicServer,
    api: 'anthropic-messages',
    model: 'claude-sonnet-5-5',
    inputTokens: 11,
  },
  {
    name: 'OpenAI',
    start: startOpenAiServer,
    api: 'openai-responses',
    model: 'gpt-5.5',
    inputTokens: 100,
  },
];
const modelsAt = ({ api, model }: Remote, server: ScriptedServer): ModelSettings => ({
  providers: {
    own: {
      api,
      baseUrl: server.baseUrl,
      apiKey: 'key',
      models: [
        {
          id: model,
          contextWindow: 12_000,
          maxTokens: 2_000,
          price: { input: 1, output: 10 },
        },
      ],
    },
  },
});
const small = { settings: { ...settings, reserveTokens: 2_000 } };
const answer = (text: string) => ({
  kind: 'answer' as const,
  deltas: [text],
  usage: { inputTokens: 100, outputTokens: 10 },
});

describe('compaction by the offline model', () => {
  it('keeps the newest turn and replaces what was before it', async () => {
    const { shorten, end } = await onStage();
    const done = await shorten();
    expect(done).toMatchObject({ compacted: true, keptFrom: 7 });
    expect(done.summary).toMatch(/Person: tea\n[^]*Assistant: re: books$/);
    expect(done.usage.inputTokens).toBeGreaterThan(0);
    const { messages } = conversationFrom(
      [...talk, { type: 'compaction', runId: '', ...done, at: 0 } as SessionEntry].map(
        (entry, at) => ({ position: at + 1, at: 0, entry: entry as never }),
      ),
      { window: 10_000, reserveTokens: 0 },
    );
    expect(messages.map((message) => 'text' in message && message.text).slice(1)).toEqual([
      'rain',
      're: rain',
    ]);
    await end();
  });

  it('keeps no notes, for that model has no thoughts of its own', async () => {
    const { shorten, memory, end } = await onStage();
    await shorten();
    expect(await memory()).toEqual([]);
    await end();
  });

  it('has nothing to shorten in one turn, and calls no model', async () => {
    const { shorten, end, memory } = await onStage({ entries: words('tea') });
    const done = await shorten();
    expect(done).toMatchObject({ compacted: false, keptFrom: 1, usage: { inputTokens: 0 } });
    expect(done.tokensAfter).toBe(done.tokensBefore);
    expect(await memory()).toEqual([]);
    await end();
  });

  it('calls hooks before and after', async () => {
    const seen: unknown[] = [];
    const { shorten, end } = await onStage({
      hooks: {
        name: 'ours',
        hooks: {
          before_compaction: ({ entries }) => void seen.push(entries),
          after_compaction: ({ summary }) => void seen.push(summary),
        },
      },
    });
    const { summary } = await shorten();
    expect(seen).toEqual([6, summary]);
    await end();
  });
});

describe.each(remotes)('compaction through the SDK of $name', (remote) => {
  const withServer = (test: (server: ScriptedServer) => Promise<void>) => async () => {
    const server = await remote.start();
    try {
      await test(server);
    } finally {
      await server.close();
    }
  };
  const sentTo = ({ requests }: ScriptedServer) => requests.map(({ body }) => JSON.stringify(body));

  it(
    'writes notes to the daily log once, then the summary, and counts both',
    withServer(async (server) => {
      const { shorten, memory, end } = await onStage({ models: modelsAt(remote, server) });
      server.script(answer('- likes tea'), answer('They spoke of tea.'));
      const done = await shorten({ ...small, instructions: 'names only' });
      expect(done.summary).toBe('They spoke of tea.');
      expect(done.usage).toMatchObject({
        inputTokens: 2 * remote.inputTokens,
        outputTokens: 20,
      });
      expect(done.usage.costUsd).toBeCloseTo((2 * remote.inputTokens + 20 * 10) / 1e6, 10);
      const [notes, summary] = sentTo(server);
      expect(notes).toContain('worth knowing');
      expect(summary).toContain('names only');
      expect(summary).toContain('Person: books');
      expect(summary).not.toContain('Person: rain');
      server.script(answer('- likes tea, said again'), answer('again'));
      await shorten(small);
      const logs = await memory();
      expect(logs).toHaveLength(1);
      expect(logs[0]).toContain('- likes tea\n');
      expect(logs[0]).not.toContain('said again');
      server.script(answer('- likes books'), answer('again'));
      await shorten(small, 'effect-2');
      expect((await memory())[0]).toMatch(/likes tea[^]*likes books/);
      await end();
    }),
  );

  it(
    'writes notes only after the summary, because a run retries under another id',
    withServer(async (server) => {
      const { shorten, memory, end } = await onStage({ models: modelsAt(remote, server) });
      const busy = { kind: 'refuse', status: 529, type: 'overloaded_error', message: 'busy' };
      server.script(answer('- likes tea'));
      server.otherwise(busy as Parameters<typeof server.otherwise>[0]);
      await expect(shorten(small, 'effect-1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(await memory()).toEqual([]);
      server.script(answer('- likes tea'), answer('They spoke of tea.'));
      await shorten(small, 'effect-2');
      expect((await memory()).join('').match(/likes tea/g)).toHaveLength(1);
      await end();
    }),
  );

  it(
    'writes no notes when there are none, or where it may not write',
    withServer(async (server) => {
      const { shorten, memory, end } = await onStage({ models: modelsAt(remote, server) });
      server.script(answer('NO_REPLY'), answer('one'));
      await shorten(small);
      const sandbox = { mode: 'always', workspaceAccess: 'ro', allow: [], deny: [] } as const;
      server.script(answer('two'));
      expect(await shorten({ settings: { ...small.settings, sandbox } })).toMatchObject({
        summary: 'two',
      });
      expect(await memory()).toEqual([]);
      await end();
    }),
  );

  it(
    'keeps notes in the summary when memory is a link',
    withServer(async (server) => {
      const { shorten, inWorkspace, end } = await onStage({ models: modelsAt(remote, server) });
      await inWorkspace(async (path) => {
        await mkdir(join(path, 'elsewhere'));
        await symlink('elsewhere', join(path, 'memory'));
      });
      server.script(answer('- likes tea'), answer('The summary.'));
      expect((await shorten(small)).summary).toMatch(/^The summary\.[^]*- likes tea$/);
      await inWorkspace(async (path) => {
        expect(await readdir(join(path, 'elsewhere'))).toEqual([]);
      });
      await end();
    }),
  );

  it(
    'shortens where the workspace cannot be kept, and keeps the notes in the summary as well',
    withServer(async (server) => {
      const { shorten, inWorkspace, end } = await onStage({ models: modelsAt(remote, server) });
      const tooDeep = 'deep/'.repeat(40);
      await inWorkspace(async (path) => {
        await mkdir(join(path, tooDeep), { recursive: true });
      });
      server.script(answer('- likes tea'), answer('The summary.'));
      expect((await shorten(small)).summary).toMatch(/^The summary\.[^]*- likes tea$/);
      await end();
    }),
  );

  it(
    'sums up in pieces what no question can hold, each with the summary so far',
    withServer(async (server) => {
      const entries = ['one', 'two', 'three', 'four'].flatMap((name) =>
        words(`${name} ${'x'.repeat(7_900)}`),
      );
      const { shorten, end } = await onStage({
        entries,
        models: modelsAt(remote, server),
        hasWorkspaces: false,
      });
      let count = 0;
      server.otherwise(() => answer(`summary ${++count}`));
      const done = await shorten(small);
      expect(count).toBeGreaterThan(1);
      expect(done.summary).toBe(`summary ${count}`);
      for (const [at, body] of sentTo(server).entries())
        if (at > 0) expect(body).toContain(`summary ${at}`);
      await end();
    }),
  );

  it(
    'sums up by rule when the model refuses',
    withServer(async (server) => {
      const { shorten, end } = await onStage({
        models: modelsAt(remote, server),
        hasWorkspaces: false,
      });
      server.otherwise({ kind: 'answer', deltas: [], stop: 'refusal' });
      const { summary } = await shorten(small);
      expect(summary).toContain('No model could');
      expect(summary).toContain('Person: tea');
      await end();
    }),
  );

  it(
    'retries with less when the request is too long, and finally summarizes by rule',
    withServer(async (server) => {
      const entries = ['one', 'two', 'three'].flatMap((name) =>
        words(`${name} ${'x'.repeat(7_900)}`),
      );
      const { shorten, end } = await onStage({
        entries,
        models: modelsAt(remote, server),
        hasWorkspaces: false,
      });
      server.otherwise({ kind: 'refuse', status: 413, type: 'request_too_large', message: 'no' });
      const { summary } = await shorten(small);
      expect(summary).toContain('Person: one');
      const sizes = sentTo(server).map((body) => body.length);
      expect(sizes.length).toBe(4);
      expect(sizes.at(-1)).toBeLessThan(sizes[0]! / 2);
      await end();
    }),
  );

  it(
    'fails with a retriable error when the model is unavailable',
    withServer(async (server) => {
      const { shorten, memory, end } = await onStage({ models: modelsAt(remote, server) });
      server.otherwise({ kind: 'refuse', status: 529, type: 'overloaded_error', message: 'busy' });
      await expect(shorten(small)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(await memory()).toEqual([]);
      await end();
    }),
  );

  it(
    'cuts within a turn that is itself too long, and repeats the question',
    withServer(async (server) => {
      const step = (at: number): SessionEntry[] => [
        {
          type: 'assistant',
          runId: 'r',
          text: '',
          calls: [{ id: `c${at}`, name: 'read', args: {} }],
          model: 'm',
          stop: 'tools',
          at: 0,
        },
        {
          type: 'tool',
          runId: 'r',
          callId: `c${at}`,
          name: 'read',
          result: 'x'.repeat(8_000),
          isError: false,
          at: 0,
        },
      ];
      const question: SessionEntry = { type: 'user', runId: 'r', text: 'Read all of it.', at: 0 };
      const { shorten, end } = await onStage({
        entries: [question, ...[1, 2, 3, 4].flatMap(step)],
        models: modelsAt(remote, server),
        hasWorkspaces: false,
      });
      server.otherwise(answer('It read.'));
      const done = await shorten({ ...small, runId: 'r' });
      expect(done).toMatchObject({ compacted: true, keptFrom: 8 });
      expect(done.summary).toMatch(/^It read\.[^]*Read all of it\.$/);
      expect(done.tokensAfter).toBeLessThan(done.tokensBefore / 2);
      await end();
    }),
  );

  it(
    'ends in what a small window can hold, however long the answers and the summary before are',
    withServer(async (server) => {
      const before: SessionEntry = {
        type: 'compaction',
        runId: '',
        summary: 'before '.repeat(10_000),
        keptFrom: 1,
        tokensBefore: 0,
        tokensAfter: 0,
        at: 0,
      };
      const { shorten, end } = await onStage({
        entries: [...talk, before],
        models: modelsAt(remote, server),
        hasWorkspaces: false,
      });
      server.otherwise(answer('word '.repeat(10_000)));
      const done = await shorten(small);
      expect(done.tokensAfter).toBeLessThan(2_000);
      await end();
    }),
  );
});
