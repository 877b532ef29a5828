/**
 * MCP server: the list of tools of one configured server. Address: `mcpServerAddress`; rows:
 * indexes `mcp-servers` and `mcp-tools`.
 *
 * Invariants: the stored list is the latest that could be read; one list is read at a time; a
 * change that is announced meanwhile is read afterwards. A server that is no longer configured is
 * forgotten, with its list.
 */
import { assign, setup } from 'xstate';
import type { FreshToolList } from '../../protocols/mcp-server.ts';
import { type ActorInput, effect, hostActions } from '../../protocols/statechart.ts';
import { action } from '../kit/handlers.ts';
import * as lists from './lists.ts';
import type { Args, ServerContext, ServerEvent } from './types.ts';

/** Announcements may come in groups. */
const MOMENT_MS = 1_000;

export const mcpServerMachine = setup({
  types: { context: {} as ServerContext, events: {} as ServerEvent, input: {} as ActorInput },
  actors: { list: effect<FreshToolList, string>() },
  actions: {
    ...hostActions,
    noteList: assign(lists.noteList),
    noteFailure: assign(lists.noteFailure),
    wantAgain: assign({ again: true }),
    begin: assign({ again: false }),
    projectRows: action(lists.rows, (_: Args, send) => ({ send })),
    removeRows: action(lists.noRows, (_: Args, send) => ({ send })),
  },
  guards: {
    isGone: lists.isGone,
    wantsAgain: ({ context }) => context.again,
  },
  delays: { pause: ({ context }) => context.pauseMs, moment: MOMENT_MS },
}).createMachine({
  id: 'mcp-server',
  description: 'The list of tools of one MCP server.',
  context: ({ input }) => lists.initialContext(input),
  initial: 'unused',
  options: { maxIterations: 100 },
  states: {
    unused: {
      description: 'No list was wanted yet.',
      on: { 'mcp-server.refresh': { target: 'listing' } },
    },
    listing: {
      description: 'Reads the list of the server.',
      entry: 'begin',
      on: { 'mcp-server.refresh': { actions: 'wantAgain' } },
      invoke: {
        id: 'list',
        src: 'list',
        input: ({ context }) => context.name,
        onDone: {
          target: 'listed',
          actions: { type: 'noteList', params: ({ event }) => ({ fresh: event.output }) },
        },
        onError: [
          { guard: 'isGone', target: 'forgotten' },
          { target: 'failed', actions: 'noteFailure' },
        ],
      },
    },
    listed: {
      description: 'The list is stored, and is read again after its lifetime.',
      entry: 'projectRows',
      always: { guard: 'wantsAgain', target: 'announced' },
      after: { pause: { target: 'listing' } },
      on: { 'mcp-server.refresh': { target: 'announced' } },
    },
    failed: {
      description: 'The list could not be read; the former one remains.',
      entry: 'projectRows',
      after: { pause: { target: 'listing' } },
      on: { 'mcp-server.refresh': { target: 'announced' } },
    },
    announced: {
      description: 'The server has announced a change, or a worker has started.',
      after: { moment: { target: 'listing' } },
    },
    forgotten: {
      description: 'The server is no longer configured.',
      entry: 'removeRows',
      type: 'final',
    },
  },
});
