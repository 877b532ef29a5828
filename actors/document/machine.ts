/**
 * Document: a text, its version number and the ten versions before it. The Data sample agent does
 * its work in these actors, so that a repeated task finds what it did.
 *
 * Invariants: a task changes the document once, even if it is repeated; a version number is never
 * reused; an undo reverts only the update of its own task, and an undo that arrives first prevents
 * that update.
 */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as versions from './versions.ts';
import type { DocumentContext, DocumentEvent } from './versions.ts';

export const documentMachine = setup({
  types: {
    context: {} as DocumentContext,
    events: {} as DocumentEvent,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    update: assign(versions.update),
    restore: assign(versions.restore),
    revoke: assign(versions.revoke),
  },
  guards: {
    isSettled: versions.isSettled,
    isValid: versions.isValid,
    isExpected: versions.isExpected,
    isLast: versions.isLast,
    wasFirst: versions.wasFirst,
    wasNever: versions.wasNever,
  },
}).createMachine({
  id: 'document',
  description: 'A text with its versions.',
  context: ({ input }) => versions.initialContext(input),
  initial: 'absent',
  options: { maxIterations: 100 },
  on: {
    'agent_data.update_document': [
      { guard: 'isSettled', actions: { type: 'reply', params: versions.settled } },
      {
        guard: 'isExpected',
        target: '.present',
        actions: [
          'update',
          { type: 'project', params: versions.project },
          { type: 'reply', params: versions.settled },
        ],
      },
      { guard: 'isValid', actions: { type: 'reply', params: versions.unexpected } },
      { actions: { type: 'reply', params: versions.unfit } },
    ],
    'agent_data.restore_document': [
      { guard: 'isSettled', actions: { type: 'reply', params: versions.settled } },
      {
        guard: 'wasFirst',
        target: '.absent',
        actions: [
          'restore',
          { type: 'project', params: versions.project },
          { type: 'reply', params: versions.settled },
        ],
      },
      {
        guard: 'isLast',
        target: '.present',
        actions: [
          'restore',
          { type: 'project', params: versions.project },
          { type: 'reply', params: versions.settled },
        ],
      },
      {
        guard: 'wasNever',
        actions: ['revoke', { type: 'reply', params: versions.settled }],
      },
      { actions: { type: 'reply', params: versions.overwritten } },
    ],
  },
  states: {
    absent: {
      description: 'The document has no content.',
      on: { 'agent_data.read_document': { actions: { type: 'reply', params: versions.absent } } },
    },
    present: {
      description: 'The document has content.',
      on: { 'agent_data.read_document': { actions: { type: 'reply', params: versions.read } } },
    },
  },
});
