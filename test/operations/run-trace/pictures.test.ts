/** Run traces as pictures: for Mermaid and for a terminal. */
import { expect, it } from 'vitest';
import { mermaidOf } from '../../../operations/run-trace/mermaid.ts';
import { textOf } from '../../../operations/run-trace/text.ts';
import type { RunTrace, TraceStep } from '../../../protocols/run-trace.ts';
import { faultsOf } from './mermaid-grammar.ts';

const participants: RunTrace['participants'] = [
  { id: 'P1', kind: 'people', name: 'ada', sessionKey: 'agent:main:main', nodes: [] },
  { id: 'S1', kind: 'session', name: 'main:main', sessionKey: 'agent:main:main', nodes: ['w1'] },
  {
    id: 'S2',
    kind: 'session',
    name: 'main:subagent:1a2b3c4d',
    label: 'finder',
    sessionKey: 'agent:main:subagent:1a2b3c4d',
    nodes: ['w2', 'w3'],
  },
];
const at = 1_000;
const traceOf = (...steps: readonly TraceStep[]): RunTrace => ({
  runId: 'r1',
  sessionKey: 'agent:main:main',
  status: 'ok',
  startedAt: 1_000,
  endedAt: 63_500,
  participants,
  steps,
  effects: [],
  approvals: [],
  left: { steps: 0, deeper: 0, sessions: [] },
});
const message = (text: string): TraceStep => ({
  kind: 'message',
  at,
  runId: 'r1',
  from: 'P1',
  to: 'S1',
  text,
  origin: 'person',
});

const whole: readonly TraceStep[] = [
  message('find it'),
  { kind: 'model', at, runId: 'r1', in: 'S1', model: 'm', tokens: 7, node: 'w1', calls: ['read'] },
  { kind: 'tool', at, runId: 'r1', in: 'S1', name: 'read', text: 'ok', failed: false },
  { kind: 'tool', at, runId: 'r1', in: 'S1', name: 'exec', text: 'no', failed: true },
  {
    kind: 'tool',
    at,
    runId: 'r1',
    in: 'S1',
    name: 'sessions_spawn',
    text: '{}',
    failed: false,
    drawn: true,
  },
  { kind: 'refused', at, runId: 'r1', in: 'S1', text: 'sessions_spawn', why: 'maxSpawnDepth' },
  {
    kind: 'message',
    at: 2_000,
    runId: 'c1',
    from: 'S1',
    to: 'S2',
    text: 'look it up',
    origin: 'task',
    label: 'finder',
  },
  { kind: 'model', at: 2_100, runId: 'c1', in: 'S2', model: 'm', calls: [] },
  { kind: 'end', at: 2_200, runId: 'c1', in: 'S2', text: 'under the sofa', status: 'ok' },
  {
    kind: 'result',
    at: 2_300,
    runId: 'c1',
    from: 'S2',
    to: 'S1',
    text: 'under the sofa',
    outcome: 'completed',
    tokens: 120,
    durationMs: 300,
  },
  { kind: 'report', at: 2_400, runId: 'r2', in: 'S1', results: 1, joins: true },
  { kind: 'end', at: 63_500, runId: 'r1', in: 'S1', to: 'P1', text: 'Found.', status: 'ok' },
];

it('a sequence diagram contains participants, messages, activations, notes and replies', () => {
  expect(mermaidOf(traceOf(...whole))).toBe(`sequenceDiagram
  autonumber
  actor P1 as ada
  participant S1 as main:main @w1
  participant S2 as finder (main:subagent:1a2b3c4d) @w2 @w3
  P1->>S1: find it
  activate S1
  Note over S1: read: ok<br/>exec failed: no
  Note over S1: refused (sessions_spawn): maxSpawnDepth
  S1->>S2: task finder: look it up
  activate S2
  deactivate S2
  S2-->>S1: completed (120 tokens, 300 ms): under the sofa
  Note over S1: reads 1 result, in the active run
  S1-->>P1: Found.
  deactivate S1
`);
});

it('the terminal output has one line per step, with the time since the start of the run', () => {
  expect(textOf(traceOf(...whole))).toBe(`run r1 in agent:main:main: ok in 1 min 3 s
     +0 ms  ada → main:main @w1  message: find it
     +0 ms  main:main @w1  m @w1, 7 tokens, asks for read
     +0 ms  main:main @w1  read: ok
     +0 ms  main:main @w1  exec failed: no
     +0 ms  main:main @w1  sessions_spawn: {}
     +0 ms  main:main @w1  refused (sessions_spawn): maxSpawnDepth
    +1.0 s    main:main @w1 → finder (main:subagent:1a2b3c4d) @w2 @w3  task finder: look it up
    +1.1 s    finder (main:subagent:1a2b3c4d) @w2 @w3  m
    +1.2 s    finder (main:subagent:1a2b3c4d) @w2 @w3  says: under the sofa
    +1.3 s    finder (main:subagent:1a2b3c4d) @w2 @w3 ⇢ main:main @w1  completed in 300 ms, 120 tokens: under the sofa
    +1.4 s  main:main @w1  reads results: 1 in the active run
+1 min 3 s  main:main @w1 ⇢ ada  says: Found.
`);
});

const nasty = [
  'a; b # c\nd',
  '%%{init: {"theme": "dark"}}%%',
  '<script>alert("x")</script> & `code` $$x$$ \\n',
  'wrap: end',
  'style: #fff; classDef: #000;',
  'S1->>P1: no',
  '\u0000\u001b[31m',
  '',
  '{"status":"ok","text":"😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀"}',
];

it.each(nasty)('the diagram stays valid with the text %j', (text) => {
  const odd = { at, runId: 'r1', in: 'S1', text } as const;
  const trace = {
    ...traceOf(
      message(text),
      { kind: 'model', at, runId: 'r1', in: 'S1', model: 'm', calls: [] },
      { kind: 'tool', name: text, failed: false, ...odd },
      { kind: 'refused', why: text, ...odd },
      { kind: 'end', to: 'P1', status: 'error', ...odd },
      { kind: 'end', to: 'P1', status: 'ok', announces: true, ...odd },
    ),
    participants: participants.map((part) => ({ ...part, label: text, nodes: [text] })),
  };
  expect(faultsOf(mermaidOf(trace))).toEqual([]);
  expect(textOf(trace)).not.toMatch(/[^\P{Cc}\n]/u);
});

it('a live run is drawn up to its current step, with a note of omitted steps', () => {
  const open: RunTrace = {
    ...traceOf(...whole.slice(0, 2)),
    status: 'running',
    left: { steps: 3, deeper: 2, sessions: ['agent:main:main'] },
  };
  const diagram = mermaidOf(open);
  expect(faultsOf(diagram)).toEqual([]);
  expect(diagram).toMatch(/deactivate S1\n {2}Note over P1: left out: 3 more steps<br\/>/);
  expect(textOf(open)).toContain('left out: 2 messages and subagents that lie deeper\n');
});
