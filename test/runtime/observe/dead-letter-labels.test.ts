/** Metrics of work that was abandoned. */
import { expect, it } from 'vitest';
import { deadLetterLabels } from '../../../runtime/observe/dead-letter-labels.ts';
import { taskAddress } from '../../../protocols/task.ts';
import { envelopeOf } from '../../actors/task/submits.ts';

const letter = {
  domain: 'demo',
  reason: 'TIME_IS_UP',
  error: { code: 'DEADLINE_EXCEEDED', message: 'it took too long' },
  to: taskAddress('acme', '1.r1'),
} as const;

it('a dead letter counts for the action, tenant and principal of its envelope', () => {
  const event = { type: 'task.submit', envelope: envelopeOf({ tenant_id: 'acme' }) };
  expect(deadLetterLabels({ ...letter, event })).toEqual({
    action: 'demo.do_thing',
    tenant: 'acme',
    principal: 'ada',
    errorCode: 'DEADLINE_EXCEEDED',
  });
});

it('a dead letter without an envelope counts for its tenant', () => {
  const event = { type: 'task.decide', decision: 'again', why: 'redriven' };
  expect(deadLetterLabels({ ...letter, event })).toEqual({
    action: '',
    tenant: 'acme',
    principal: '',
    errorCode: 'DEADLINE_EXCEEDED',
  });
});
