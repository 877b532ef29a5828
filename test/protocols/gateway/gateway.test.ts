/**
 * Our schemas against the published package of OpenClaw's protocol: every value that we may send
 * must be valid for the package, and we must accept every value that the package permits clients to
 * send.
 */
import * as published from '@openclaw/gateway-protocol';
import type { TSchema } from '@sinclair/typebox';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERRORS, type ErrorCode, TroupeError } from '../../../protocols/errors.ts';
import * as gateway from '../../../protocols/gateway/index.ts';
import { admittedBy } from './arbitrary.ts';
import { definition, document, publishedComplaint } from './published.ts';

const runs = { numRuns: 60 };

describe('a value that the gateway sends', () => {
  const sent: Readonly<Record<string, TSchema>> = {
    ResponseFrame: gateway.ResponseFrame,
    EventFrame: gateway.EventFrame,
    ErrorShape: gateway.GatewayErrorShape,
    HelloOk: gateway.HelloOk,
    PresenceEntry: gateway.PresenceEntry,
    TickEvent: gateway.TickEvent,
    ShutdownEvent: gateway.ShutdownEvent,
    ChatEvent: gateway.ChatEvent,
    SessionRow: gateway.SessionsListRow,
  };
  it.each(Object.entries(sent))(
    'is valid for the published %s, for any values of its fields',
    (name, schema) => {
      fc.assert(
        fc.property(admittedBy(schema), (value) => {
          expect(publishedComplaint(name, value)).toBeUndefined();
        }),
        runs,
      );
    },
  );

  it('is a valid published AgentEvent apart from the session fields, which OpenClaw sends beyond its own schema', () => {
    fc.assert(
      fc.property(admittedBy(gateway.AgentEvent), (value) => {
        const {
          sessionKey: _key,
          sessionId: _id,
          agentId: _agent,
          ...rest
        } = value as gateway.AgentEvent;
        expect(publishedComplaint('AgentEvent', rest)).toBeUndefined();
      }),
      runs,
    );
  });

  it('is refused by the published schema when a field is wrong, so the check can fail', () => {
    const ok = { type: 'hello-ok' };
    expect(publishedComplaint('HelloOk', ok)).toMatch(/snapshot/);
    expect(publishedComplaint('TickEvent', { ts: -1 })).toBeDefined();
    expect(
      publishedComplaint('EventFrame', { type: 'event', event: 'tick', extra: 1 }),
    ).toBeDefined();
  });

  it('wraps payloads into frames that the published EventFrame accepts', () => {
    const version = { presence: 2, health: 7 };
    const tick = gateway.eventFrame('tick', { ts: 5 }, { seq: 1, stateVersion: version });
    expect(tick).toEqual({
      type: 'event',
      event: 'tick',
      payload: { ts: 5 },
      seq: 1,
      stateVersion: version,
    });
    expect(publishedComplaint('EventFrame', tick)).toBeUndefined();
    expect(
      publishedComplaint('EventFrame', gateway.eventFrame('shutdown', { reason: 'restart' })),
    ).toBeUndefined();
  });

  it.each(Object.keys(ERRORS) as ErrorCode[])(
    'maps %s to a code of OpenClaw, with the troupe code as reason',
    (code) => {
      const error = gateway.gatewayError(
        new TroupeError(code, 'because', { retryAfterMs: 0.5 }).toData(),
      );
      expect(Object.values(published.ErrorCodes)).toContain(error.code);
      expect(error).toMatchObject({
        message: 'because',
        details: { reason: code },
        retryAfterMs: 1,
      });
      expect(error.retryable).toBe(ERRORS[code].retriable);
      expect(
        publishedComplaint('ResponseFrame', { type: 'res', id: '7', ok: false, error }),
      ).toBeUndefined();
    },
  );

  it('uses the code as message of an error without text, because clients refuse an empty one', () => {
    const error = gateway.gatewayError({ code: 'INTERNAL', message: '' });
    expect(publishedComplaint('ErrorShape', error)).toBeUndefined();
  });
});

/** Errors but those of parameters that are refused by name. */
const unexpected = (answer: ReturnType<typeof gateway.checkParams>) =>
  answer.ok ? [] : answer.errors.filter(({ message }) => !message.startsWith('is not supported: '));

describe('a value that clients send', () => {
  const taken: readonly (readonly [gateway.GatewayMethodName, string])[] = [
    ['connect', 'ConnectParams'],
    ['agent', 'AgentParams'],
    ['agent.wait', 'AgentWaitParams'],
    ['chat.send', 'ChatSendParams'],
    ['chat.history', 'ChatHistoryParams'],
    ['chat.abort', 'ChatAbortParams'],
    ['sessions.list', 'SessionsListParams'],
    ['sessions.reset', 'SessionsResetParams'],
    ['sessions.compact', 'SessionsCompactParams'],
    ['exec.approval.get', 'ExecApprovalGetParams'],
    ['exec.approval.resolve', 'ExecApprovalResolveParams'],
  ];
  it.each(taken)(
    'as params of %s is accepted, or refused as unsupported, whenever the published %s accepts it',
    (method, name) => {
      fc.assert(
        fc.property(admittedBy(definition(name)), (params) => {
          expect(unexpected(gateway.checkParams(method, params))).toEqual([]);
        }),
        runs,
      );
    },
  );

  it.each(taken.filter(([method]) => method !== 'connect'))(
    'as params of %s is refused with its path when it has an unknown field',
    (method, name) => {
      const [sample] = fc.sample(admittedBy(definition(name)), { numRuns: 1, seed: 7 });
      const answer = gateway.checkParams(method, { ...(sample as object), unknownGuard: true });
      expect(answer).toEqual({
        ok: false,
        errors: [{ path: '/unknownGuard', message: 'is not a known field', value: true }],
      });
    },
  );

  it('as a request frame is accepted, also with fields of a newer client', () => {
    fc.assert(
      fc.property(admittedBy(definition('RequestFrame')), (frame) => {
        const newer = { ...(frame as object), expectedProfileId: 'p' };
        expect(gateway.checkRequestFrame(frame)).toMatchObject({ ok: true });
        expect(gateway.checkRequestFrame(newer)).toMatchObject({ ok: true });
      }),
      runs,
    );
  });

  it('may omit params if none are required', () => {
    expect(gateway.checkParams('health', undefined)).toEqual({ ok: true, value: {} });
    expect(gateway.checkParams('sessions.list', null)).toEqual({ ok: true, value: {} });
    expect(gateway.checkParams('chat.send', undefined)).toMatchObject({ ok: false });
  });

  it('reports all errors at once, with paths', () => {
    const answer = gateway.checkParams('chat.send', {
      message: 1,
      timeoutMs: -5,
      queueMode: 'later',
      idempotencyKey: 'k',
    });
    expect(answer).toEqual({
      ok: false,
      errors: expect.arrayContaining([
        { path: '/sessionKey', message: 'is required' },
        { path: '/message', message: 'must be string', value: 1 },
        { path: '/timeoutMs', message: 'must be at least 0', value: -5 },
        {
          path: '/queueMode',
          message: 'must be one of "steer", "followup", "collect", "interrupt"',
          value: 'later',
        },
      ]),
    });
  });

  it('never shows a secret of the handshake in an error', () => {
    const answer = gateway.checkParams('connect', {
      minProtocol: 4,
      maxProtocol: 4,
      client: { id: 'cli', version: '1', platform: 'linux', mode: 'cli' },
      auth: { token: 12345 },
      device: { id: 'd', publicKey: 'p', signature: '', signedAt: 1, nonce: 'n' },
    });
    expect(answer).toMatchObject({ ok: false });
    expect(JSON.stringify(answer)).not.toContain('12345');
    expect(answer.ok ? [] : answer.errors.map((error) => error.path)).toEqual([
      '/device/signature',
      '/auth/token',
    ]);
  });
});

describe('the table of methods', () => {
  it('requires the scopes of the published document', () => {
    // `connect` grants scopes; the scope of `agent` depends on its params and is at least write.
    const { connect, ...others } = gateway.GatewayMethods;
    expect(connect.scope).toBeNull();
    // Methods that only troupe has, or that the document lacks.
    const ours = new Set([
      'actors.unwatch',
      'actors.watch',
      'audit.actions.list',
      'events.resume',
      'node.approval.ask',
      'operations.run',
      'sessions.unsubscribe',
    ]);
    for (const [method, { scope }] of Object.entries(others)) {
      if (ours.has(method)) continue;
      const theirs = document.methods[method]?.scope;
      expect([method, scope]).toEqual([method, theirs === 'dynamic' ? 'operator.write' : theirs]);
    }
  });

  it('uses the published version and accepts its clients', () => {
    expect(gateway.PROTOCOL_VERSION).toBe(published.PROTOCOL_VERSION);
    expect(gateway.PROTOCOL_VERSION_NODE_MIN).toBe(published.MIN_NODE_PROTOCOL_VERSION);
    const client = definition('ConnectParams').properties?.client as {
      properties: { id: { enum: string[] }; mode: { enum: string[] } };
    };
    expect([...gateway.CLIENT_IDS].toSorted()).toEqual(client.properties.id.enum.toSorted());
    expect([...gateway.CLIENT_MODES].toSorted()).toEqual(client.properties.mode.enum.toSorted());
  });
});
