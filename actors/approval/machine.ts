/**
 * Approval: one question that a user decides, stored until its deadline and for a while after it.
 *
 * Invariants: the first decision counts; the actor that asked is answered once for each question;
 * only a user with the approver role decides, never an actor.
 */
import { assign, setup } from 'xstate';
import { APPROVAL_RETENTION_MS } from '../../protocols/approval.ts';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as question from './question.ts';
import type { ApprovalContext, ApprovalEvent } from './question.ts';

export const approvalMachine = setup({
  types: {
    context: {} as ApprovalContext,
    events: {} as ApprovalEvent,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    ask: assign(question.ask),
    keepAsker: assign(question.keepAsker),
    decide: assign(question.decide),
    expire: assign(question.expire),
    withdraw: assign(question.withdraw),
  },
  guards: {
    isValid: question.isValid,
    isByAsker: question.isByAsker,
    operatorAllows: (args) => question.means(args, 'allowed'),
    operatorDenies: (args) => question.means(args, 'denied'),
  },
  delays: { answerTime: ({ context }) => context.forMs, retention: APPROVAL_RETENTION_MS },
}).createMachine({
  id: 'approval',
  description: 'One question that a user decides.',
  context: ({ input }) => question.initialContext(input),
  initial: 'unasked',
  options: { maxIterations: 100 },
  states: {
    unasked: {
      description: 'No question exists yet; a decision finds nothing.',
      on: {
        'approval.ask': [
          { guard: 'isValid', target: 'asked', actions: 'ask' },
          { target: 'forgotten', actions: { type: 'reply', params: question.unfit } },
        ],
        'approval.answer': {
          target: 'forgotten',
          actions: { type: 'reply', params: question.unknown },
        },
      },
    },
    asked: {
      description: 'The question is open until its deadline.',
      entry: { type: 'project', params: question.project },
      after: { answerTime: { target: 'decided.expired', actions: 'expire' } },
      on: {
        'approval.ask': { actions: 'keepAsker' },
        'approval.withdraw': [
          { guard: 'isByAsker', target: 'decided.expired', actions: 'withdraw' },
          { actions: { type: 'reply', params: question.unasked } },
        ],
        'approval.answer': [
          {
            guard: 'operatorAllows',
            target: 'decided.allowed',
            actions: ['decide', { type: 'reply', params: question.taken }],
          },
          {
            guard: 'operatorDenies',
            target: 'decided.denied',
            actions: ['decide', { type: 'reply', params: question.taken }],
          },
          { actions: { type: 'reply', params: question.refused } },
        ],
      },
    },
    decided: {
      description: 'The decision is stored; a later caller receives it.',
      entry: [
        { type: 'project', params: question.project },
        { type: 'reply', params: question.decided },
      ],
      after: { retention: 'removed' },
      on: {
        'approval.ask': { actions: { type: 'reply', params: question.decidedBefore } },
        'approval.answer': { actions: { type: 'reply', params: question.late } },
      },
      initial: 'expired',
      states: {
        allowed: { description: 'A user allowed the request.' },
        denied: { description: 'A user denied the request.' },
        expired: { description: 'No user decided before the deadline.' },
      },
    },
    removed: {
      description: 'The retention time is over.',
      entry: { type: 'project', params: question.unproject },
      type: 'final',
    },
    forgotten: { description: 'The question never existed.', type: 'final' },
  },
});
