/**
 * Document: a text with versions and the last ten before it (EN13). The shipped Data agent's work
 * is done here, so that a task that is tried again finds what it did.
 *
 *  - `absent`: there is no content, not yet or not any more.
 *  - `present`: there is one.
 *
 * Invariants: a task changes the document once, however often it asks; a version number is never
 * used twice; an undo takes back its own update only, and one that comes first keeps the update
 * from coming after it.
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
    isFit: versions.isValid,
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
      { guard: 'isFit', actions: { type: 'reply', params: versions.unexpected } },
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
