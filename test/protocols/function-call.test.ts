import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkEnvelope } from '../../protocols/envelope.ts';
import {
  actionOfFunction,
  callable,
  type CallHead,
  envelopeOfCall,
  functionNameOf,
  functionOf,
  toolMessageOf,
} from '../../protocols/models/function-call.ts';
import type { TaskView } from '../../protocols/task.ts';
import { spec } from '../actors/listing/walk.ts';

const hello = {
  ...spec('greeter.say_hello', '2.1.0'),
  schemas: {
    '1.0': { type: 'object' },
    '1.10': {
      type: 'object',
      properties: { schema_version: { const: '1.10' }, name: { type: 'string' } },
      required: ['schema_version', 'name'],
      additionalProperties: false,
    },
    '1.9': { type: 'object' },
  },
};
const head: CallHead = {
  request_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f60',
  correlation_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f60',
  causation_id: null,
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  tenant_id: 'default',
  principal: { sub: 'ada', roles: [] },
  timestamp: '2026-01-31T09:30:00Z',
  ttl_sec: 60,
  idempotency_key: 'k',
  seq: 1,
};
const call = (text: string, name = functionNameOf(hello)) => ({
  id: 'call_1',
  function: { name, arguments: text },
});

describe('an action as a function', () => {
  it('has a name that every provider accepts, unique per action and MAJOR', () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9]{0,30}$/);
    const domain = fc.stringMatching(/^[a-z][a-z0-9_]{0,30}$/);
    const actions = fc.tuple(domain, word, word).map(([d, v, o]) => `${d}.${v}_${o}`);
    const one = fc.record({ action: actions, action_version: fc.constantFrom('1.0.0', '2.3.4') });
    fc.assert(
      fc.property(one, one, (a, b) => {
        const name = functionNameOf(a);
        expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        const same = a.action === b.action && a.action_version === b.action_version;
        expect(functionNameOf(b) === name).toBe(same);
        if (a.action.length <= 50) {
          const major = Number(a.action_version[0]);
          expect(actionOfFunction(name)).toEqual({ action: a.action, major });
        }
      }),
    );
  });

  it.each([
    ['a.b_c', 'a_.b_c'],
    ['a.b_c', 'a__b.c_d'],
  ])('distinguishes %s from %s', (left, right) => {
    expect(functionNameOf(spec(left))).not.toBe(functionNameOf(spec(right)));
    for (const action of [left, right])
      expect(actionOfFunction(functionNameOf(spec(action)))?.action).toBe(action);
  });

  it('asks for the payload of the newest schema, without its version', () => {
    const { parameters, name } = functionOf(hello).function;
    expect(name).toBe('greeter__say_hello-v2');
    expect(parameters).toEqual({
      type: 'object',
      properties: { name: { type: 'string' } },
      required: ['name'],
      additionalProperties: false,
    });
    expect(new Ajv2020().validate(parameters, { name: 'Ada' })).toBe(true);
  });

  it('does not exist when its payload is sensitive, because a model writes plain text', () => {
    const secret = { ...hello, sensitive: true };
    expect(callable([secret, spec('a.b_c')])).toEqual([spec('a.b_c')]);
    expect(() => envelopeOfCall(call('{}'), head, [secret])).toThrow(/no function/);
  });
});

describe('a call', () => {
  it('becomes an envelope with its arguments as payload', () => {
    const envelope = envelopeOfCall(call('{"name":"Ada"}'), head, [hello]);
    expect(checkEnvelope(envelope).ok).toBe(true);
    expect(envelope).toMatchObject({
      action: 'greeter.say_hello',
      action_version: '2.1.0',
      payload: { schema_version: '1.10', name: 'Ada' },
    });
  });

  it('cannot choose the version of its own schema', () => {
    const { payload } = envelopeOfCall(call('{"schema_version":"1.0"}'), head, [hello]);
    expect(payload.schema_version).toBe('1.10');
  });

  it.each(['[]', '"x"', '{', 'null'])('with the arguments %s is refused', (text) => {
    expect(() => envelopeOfCall(call(text), head, [hello])).toThrow(/the arguments of greeter__/);
  });

  it('with arguments that are nested too deep is refused', () => {
    const text = `{"name":${'['.repeat(300)}${']'.repeat(300)}}`;
    expect(() => envelopeOfCall(call(text), head, [hello])).toThrow(/nested more than 256 deep/);
  });

  it('of an unknown function is refused with the name of the action', () => {
    expect(() => envelopeOfCall(call('{}', 'greeter__say_bye-v1'), head, [hello])).toThrow(
      /version 1 of greeter.say_bye/,
    );
  });
});

describe('the response to a call', () => {
  it('is a tool message with the result and its resource links', () => {
    const view = {
      task_id: 't',
      state: 'SUCCEEDED',
      result: { text: 'hello' },
      resource_links: [{ uri: 'urn:a' }],
    } as unknown as TaskView;
    const { content, ...message } = toolMessageOf(view, 'call_1');
    expect(message).toEqual({ role: 'tool', tool_call_id: 'call_1' });
    expect(JSON.parse(content)).toEqual(view);
  });

  it('is a tool message with the error of a refusal', () => {
    const error = { code: 'NOT_FOUND' as const, message: 'no' };
    expect(JSON.parse(toolMessageOf({ error }, 'c').content)).toEqual({ error });
  });
});
