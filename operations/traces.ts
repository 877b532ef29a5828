/**
 * Run traces: the activity that followed from one run, from committed rows and transcripts. It
 * activates no actor.
 */
import { Type } from '@sinclair/typebox';
import { type RunTrace, TRACE_DEPTH_MAX } from '../protocols/run-trace.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { mermaidOf } from './run-trace/mermaid.ts';
import { traceReader } from './run-trace/reader.ts';
import { textOf } from './run-trace/text.ts';
import { traceOf } from './run-trace/trace-of.ts';

const depth = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: TRACE_DEPTH_MAX,
    description: `Maximum distance of followed messages and spawns, 0 to ${TRACE_DEPTH_MAX}; default ${TRACE_DEPTH_MAX}`,
  }),
);

const show = defineOperation({
  name: 'trace',
  scope: 'tenant',
  summary: 'Show the messages, subagents and tools that a run led to, across sessions and workers',
  params: Type.Object({ run_id: Type.String({ description: 'The run' }), depth }),
  result: ObjectOf<RunTrace>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/runs/{run_id}/trace',
    operationId: 'getRunTrace',
    responses: { 200: 'Participants, and steps in the order of their times' },
  },
  cli: {
    command: 'trace',
    input: {
      schema: Type.Object({
        run: Type.String({
          description: 'Id of the run; `troupe agent --json` and `troupe sessions --json` show it',
        }),
        mermaid: Type.Optional(Type.Boolean({ description: 'A sequence diagram, for Markdown' })),
        depth: Type.Optional(
          Type.Integer({
            description: `Maximum distance of followed messages and spawns, 1 to ${TRACE_DEPTH_MAX}; default ${TRACE_DEPTH_MAX}`,
          }),
        ),
      }),
      toParams: ({ run, mermaid: _, ...given }) => ({ run_id: String(run), ...given }),
    },
    args: ['run'],
    examples: ['troupe trace review-42', 'troupe trace review-42 --mermaid'],
    print: (trace, _, { mermaid }) => (mermaid === true ? mermaidOf(trace) : textOf(trace)),
  },
  run: ({ system, tenant }, { run_id, depth: depthMax = TRACE_DEPTH_MAX }) =>
    traceOf(traceReader(system, tenant), run_id, depthMax),
});

export const traces: Resource = { name: 'trace', operations: [show] };
