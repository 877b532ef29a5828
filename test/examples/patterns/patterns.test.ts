/** Each pattern as a reader runs it, on the offline model: its result and its diagram. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { PATTERNS } from '../../../examples/patterns/patterns.ts';
import { play } from '../../../examples/patterns/play.ts';
import type { RunTrace } from '../../../protocols/run-trace.ts';
import { faultsOf } from '../../operations/run-trace/mermaid-grammar.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';

const played = (name: string) =>
  play(PATTERNS[name]!, { configFile: `examples/patterns/${name}/troupe.json5` });

const names = ({ participants }: RunTrace) =>
  participants.map(({ name }) => name.replace(/:[0-9a-f]{8}$/, ''));
const kinds = ({ steps }: RunTrace, kind: string) => steps.filter((step) => step.kind === kind);
/** The sender and receiver of each message, by agent name; texts of the model are ignored. */
const arrows = ({ steps, participants }: RunTrace): readonly string[] => {
  const name = (id: string) => participants.find((part) => part.id === id)!.name.split(':')[0];
  return steps.flatMap((step) => {
    if (step.kind === 'message' || step.kind === 'result')
      return [`${step.kind} ${name(step.from)}→${name(step.to)}`];
    return step.kind === 'end' && step.to !== undefined && !step.silent
      ? [`reply ${name(step.in)}→${name(step.to)}`]
      : [];
  });
};

describe('a pattern', () => {
  it('delegation: one task is delegated and its result is the answer', async () => {
    const { answers, trace, picture } = await played('delegation');
    expect(answers).toHaveLength(1);
    expect(answers[0]).toContain('main answered: ');
    expect(arrows(trace)).toEqual([
      'message ada→main',
      'message main→main',
      'result main→main',
      'reply main→ada',
    ]);
    expect(names(trace)).toEqual(['ada', 'main:main', 'main:subagent']);
    expect(faultsOf(picture)).toEqual([]);
  });

  it('pipeline: each stage works on the result of the previous one', async () => {
    const { answers, trace, picture } = await played('pipeline');
    expect(answers).toHaveLength(1);
    const stages = ['writer', 'editor', 'translator'];
    expect(arrows(trace)).toEqual([
      'message ada→main',
      ...stages.flatMap((stage) => [`message main→${stage}`, `reply ${stage}→main`]),
      'reply main→ada',
    ]);
    const headline = trace.steps.find((step) => step.kind === 'end')!.text;
    const shorter = trace.steps.filter((step) => step.kind === 'message')[2]!.text;
    expect(shorter).toContain(`Make it shorter: ${headline}`);
    expect(faultsOf(picture)).toEqual([]);
  });

  it('discussion: two agents reply in turn until one has nothing to add', async () => {
    const { answers, trace, picture } = await played('discussion');
    expect(answers[0]).toContain('sceptic answered: ');
    expect(arrows(trace)).toEqual([
      'message ada→optimist',
      'message optimist→sceptic',
      'reply sceptic→optimist',
      'reply optimist→ada',
      'reply optimist→sceptic',
      'reply sceptic→optimist',
      'reply optimist→sceptic',
    ]);
    expect(trace.steps.at(-1)).toMatchObject({ kind: 'end', silent: true, text: 'REPLY_SKIP' });
    expect(faultsOf(picture)).toEqual([]);
  });

  it('code review: two reviewers receive the same code at once', async () => {
    const { answers, trace, picture } = await played('code-review');
    for (const reviewer of ['security', 'readability'])
      expect(answers[0]).toContain(`${reviewer} answered: `);
    expect(arrows(trace).toSorted()).toEqual([
      'message ada→author',
      'message author→readability',
      'message author→security',
      'reply author→ada',
      'reply readability→author',
      'reply security→author',
    ]);
    expect(faultsOf(picture)).toEqual([]);
  });

  it('research: the results of all subagents are combined', async () => {
    const { answers, trace, picture } = await played('research');
    for (const label of ['wind', 'sun', 'water']) expect(answers.at(-1)).toContain(`- ${label}: `);
    expect(kinds(trace, 'result')).toHaveLength(3);
    const read = trace.steps.flatMap((step) => (step.kind === 'report' ? [step.results] : []));
    expect(read.reduce((sum, results) => sum + results, 0)).toBe(3);
    expect(faultsOf(picture)).toEqual([]);
  });

  it('coordinator: each specialist uses the tool of its field', async () => {
    const { answers, trace, picture } = await played('coordinator');
    expect(answers[0]).toContain('391');
    const used = trace.steps.flatMap((step) =>
      step.kind === 'tool' && !step.drawn ? [`${step.name} ${step.failed}`] : [],
    );
    expect(used.toSorted()).toEqual(['calculate false', 'clock false']);
    expect(kinds(trace, 'refused')).toEqual([]);
    expect(faultsOf(picture)).toEqual([]);
  });
});

it('the command runs a pattern, prints the answer and writes the diagram', async () => {
  const out = join(scratchFolder(), 'picture.mmd');
  const args = ['tools/run.mjs', 'examples/patterns/main.ts', 'delegation', '--out', out];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  expect(stdout).toContain('main answered: ');
  expect(faultsOf(readFileSync(out, 'utf8'))).toEqual([]);
}, 70_000);

it('the command lists the patterns without an argument', async () => {
  const args = ['tools/run.mjs', 'examples/patterns/main.ts'];
  const ended = promisify(execFile)(process.execPath, args, { timeout: 60_000 });
  await expect(ended).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('patterns: delegation, pipeline, discussion, code-review'),
  });
}, 70_000);
