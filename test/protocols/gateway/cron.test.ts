/**
 * Requests of clients about jobs and tasks: all that the published package accepts are accepted.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as gateway from '../../../protocols/gateway/index.ts';
import { admittedBy } from './arbitrary.ts';
import { definition, document, publishedComplaint } from './published.ts';

const runs = { numRuns: 60 };

describe('params of jobs and tasks', () => {
  const taken: readonly (readonly [gateway.GatewayMethodName, string])[] = [
    ['cron.list', 'CronListParams'],
    ['cron.get', 'CronGetParams'],
    ['cron.add', 'CronAddParams'],
    ['cron.update', 'CronUpdateParams'],
    ['cron.remove', 'CronRemoveParams'],
    ['cron.run', 'CronRunParams'],
    ['cron.runs', 'CronRunsParams'],
    ['wake', 'WakeParams'],
    ['tasks.list', 'TasksListParams'],
    ['tasks.get', 'TasksGetParams'],
    ['tasks.cancel', 'TasksCancelParams'],
    ['send', 'SendParams'],
  ];
  it.each(taken)('of %s are accepted whenever the published %s accepts them', (method, name) => {
    fc.assert(
      fc.property(admittedBy(definition(name)), (params) => {
        const answer = gateway.checkParams(method, params);
        const errors = answer.ok ? [] : answer.errors;
        expect(errors.filter(({ message }) => !message.startsWith('is not supported: '))).toEqual(
          [],
        );
      }),
      runs,
    );
  });

  it.each(taken)('%s needs the scope that is published', (method) => {
    expect(gateway.GatewayMethods[method].scope).toBe(document.methods[method]!.scope);
  });
});

describe('an event or result about jobs and tasks', () => {
  it.each([
    ['CronJob', gateway.CronJob],
    ['CronRunLogEntry', gateway.CronRunLogEntry],
    ['TaskSummary', gateway.TaskSummary],
  ] as const)('is a valid published %s, for any values of its fields', (name, schema) => {
    fc.assert(
      fc.property(admittedBy(schema), (value) => {
        expect(publishedComplaint(name, value)).toBeUndefined();
      }),
      runs,
    );
  });
});
