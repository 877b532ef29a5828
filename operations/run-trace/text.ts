/**
 * A run trace for a terminal: one line per step with the time since the start of the run, indented
 * by the session's distance from the run.
 */
import type { RunTrace, TraceParticipant, TraceStep } from '../../protocols/run-trace.ts';
import { omissionLines } from './omissions.ts';
import { durationText } from './durations.ts';

export function textOf(trace: RunTrace): string {
  const { runId, sessionKey, status, startedAt, endedAt, participants, steps } = trace;
  const names = new Map(participants.map((part) => [part.id, nameOf(part)]));
  const depths = depthsOf(steps);
  const took = endedAt === undefined ? '' : ` in ${durationText(Math.max(0, endedAt - startedAt))}`;
  const lines = steps.map((step) => {
    const after = `+${durationText(Math.max(0, step.at - startedAt))}`.padStart(TIME_COLUMNS);
    return `${after}  ${'  '.repeat(depths.get(placeOf(step)) ?? 0)}${lineOf(step, names)}`;
  });
  const decided = trace.approvals.map(
    ({ title, state, decidedBy }) =>
      `approval of ${title}: ${state}${decidedBy === undefined ? '' : ` by ${decidedBy}`}`,
  );
  const head = `run ${runId} in ${sessionKey}: ${status}${took}`;
  return `${printable([head, ...lines, ...decided, ...omissionLines(trace.left)].join('\n'))}\n`;
}

const TIME_COLUMNS = 10;

const nameOf = ({ name, label, nodes }: TraceParticipant): string =>
  `${label === undefined ? name : `${label} (${name})`}${nodes.map((node) => ` @${node}`).join('')}`;

/** The participant that determines the indentation of a step. */
const placeOf = (step: TraceStep): string =>
  step.kind === 'message' ? step.to : step.kind === 'result' ? step.from : step.in;

/** The depth of a session is one more than that of the session that first wrote to it. */
function depthsOf(steps: readonly TraceStep[]): ReadonlyMap<string, number> {
  const depths = new Map<string, number>();
  for (const step of steps) {
    if (step.kind !== 'message' || depths.has(step.to)) continue;
    const above = step.origin === 'person' ? undefined : depths.get(step.from);
    depths.set(step.to, above === undefined ? 0 : above + 1);
  }
  return depths;
}

function lineOf(step: TraceStep, names: ReadonlyMap<string, string>): string {
  const name = (id: string) => names.get(id) ?? id;
  switch (step.kind) {
    case 'message': {
      const what = step.origin === 'task' ? `task ${step.label ?? ''}`.trim() : 'message';
      return `${name(step.from)} → ${name(step.to)}  ${what}: ${step.text}`;
    }
    case 'model': {
      const asks = step.calls.length > 0 ? `, asks for ${step.calls.join(', ')}` : '';
      const tokens = step.tokens === undefined ? '' : `, ${step.tokens} tokens`;
      const on = step.node === undefined ? '' : ` @${step.node}`;
      return `${name(step.in)}  ${step.model}${on}${tokens}${asks}`;
    }
    case 'tool':
      return `${name(step.in)}  ${step.name}${step.failed ? ' failed' : ''}: ${step.text}`;
    case 'end':
      return endLine(step, name);
    case 'result': {
      const tokens = step.tokens === undefined ? '' : `, ${step.tokens} tokens`;
      const took = step.durationMs === undefined ? '' : ` in ${durationText(step.durationMs)}`;
      const how = `${step.outcome}${took}${tokens}`;
      return `${name(step.from)} ⇢ ${name(step.to)}  ${how}: ${step.text}`;
    }
    case 'report': {
      const how = step.joins ? ' in the active run' : '';
      return `${name(step.in)}  reads results: ${step.results}${how}`;
    }
    case 'refused':
      return `${name(step.in)}  refused (${step.text}): ${step.why}`;
  }
}

function endLine(step: TraceStep & { kind: 'end' }, name: (id: string) => string): string {
  const { in: own, to, status, text, silent, announces } = step;
  if (silent) return `${name(own)}  ends: ${text === '' ? 'says nothing' : text}`;
  const how = status === 'ok' ? (announces ? 'announces' : 'says') : status;
  return to === undefined
    ? `${name(own)}  ${how}: ${text}`
    : `${name(own)} ⇢ ${name(to)}  ${how}: ${text}`;
}

/** Removes terminal control sequences from texts of agents. */
const printable = (text: string): string => text.replaceAll(/[^\P{Cc}\n]/gu, '�');
