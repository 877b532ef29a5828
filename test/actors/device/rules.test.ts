/** What a device actor permits and refuses, rule by rule. */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import {
  ASKERS_MAX,
  type DeviceAsked,
  INVOCATION_KEPT_MS,
  INVOCATIONS_MAX,
  KEPT_CHARACTERS_MAX,
  PAIRING_MS,
  PARAMS_CHARACTERS_MAX,
  PAYLOAD_CHARACTERS_MAX,
  PENDING_CHARACTERS_MAX,
  SURFACE_CHARACTERS_MAX,
  UNPAIRED_RETENTION_MS,
  WAITING_MAX,
} from '../../../protocols/device.ts';
import { Stepped } from './stepped.ts';
import { asks, online } from './walk.ts';

const READ = 'operator.read';
const ADMIN = 'operator.admin';
const asOperator = (scopes: string[], changes: object = {}) =>
  asks({ role: 'operator', scopes, ...changes });
const requestOf = (answer: { result?: unknown } | undefined): string => {
  const asked = answer?.result as DeviceAsked;
  if (asked.state !== 'pending') throw new Error('no approval is pending');
  return asked.requestId;
};
const pendingFor = (reason: string) => ({ result: { state: 'pending', reason } });
const paired = { result: { state: 'paired' } };
const code = (name: string) => ({ error: { code: name } });
const invoke = (id: string, changes: object = {}) => ({
  type: 'device.invoke',
  id,
  command: 'camera.snap',
  paramsJson: '{}',
  timeoutMs: 60_000,
  ...changes,
});

describe('the approval of a device', () => {
  it('comes from an entry point for the first role, and from an operator for more', () => {
    const device = new Stepped();
    expect(device.ask(asOperator([READ], { approved: true }))).toMatchObject(paired);
    expect(device.ask(asOperator([ADMIN], { approved: true }))).toMatchObject(
      pendingFor('scope-upgrade'),
    );
    expect(device.ask(asks({ approved: true }))).toMatchObject(pendingFor('role-upgrade'));
    expect(device.ask(asOperator([READ]))).toMatchObject(paired);
    expect(device.context.requests.map(({ role }) => role)).toEqual(['operator', 'node']);
  });

  it('includes implied scopes, and another platform needs an operator again', () => {
    const device = new Stepped();
    device.ask(asOperator([ADMIN], { approved: true }));
    expect(device.ask(asOperator([READ, 'operator.pairing']))).toMatchObject(paired);
    const mac = { face: { platform: 'darwin' }, approved: true };
    const asked = device.ask(asOperator([READ], mac));
    expect(asked).toMatchObject(pendingFor('metadata-upgrade'));
    device.decide({ type: 'device.approve', requestId: requestOf(asked) });
    expect(device.ask(asOperator([READ], mac))).toMatchObject(paired);
    expect(device.context.roles.operator?.scopes).toEqual([ADMIN, READ]);
  });

  it('keeps its request for the same role and scopes, and has a new one for more', () => {
    const device = new Stepped();
    const first = requestOf(device.ask(asOperator([READ])));
    device.pass(PAIRING_MS - 1);
    expect(requestOf(device.ask(asOperator([READ])))).toBe(first);
    device.pass(PAIRING_MS - 1);
    const second = requestOf(device.ask(asOperator([ADMIN])));
    expect(second).not.toBe(first);
    expect(device.decide({ type: 'device.approve', requestId: first })).toMatchObject(
      code('NOT_FOUND'),
    );
    device.pass(PAIRING_MS);
    expect(device.decide({ type: 'device.approve', requestId: second })).toMatchObject(
      code('NOT_FOUND'),
    );
    const whats = device.notices.map((notice) => 'what' in notice && notice.what);
    expect(whats).toEqual(['requested', 'expired', 'requested', 'expired']);
  });

  it('is removed when no operator decides for a while', () => {
    const device = new Stepped();
    device.ask(asks());
    device.pass(UNPAIRED_RETENTION_MS - 1);
    expect(device.isGone).toBe(false);
    device.ask(asks());
    device.pass(UNPAIRED_RETENTION_MS - 1);
    expect(device.isGone).toBe(false);
    device.pass(1);
    expect(device.isGone).toBe(true);
    expect(device.notices.at(-1)).toMatchObject({ what: 'removed' });
  });
});

describe('a token', () => {
  const hash = (letter: string) => letter.repeat(64);
  const token = (letter: string, changes: object = {}) => ({
    type: 'device.token',
    role: 'operator',
    hash: hash(letter),
    ...changes,
  });
  const withRole = () => {
    const device = new Stepped();
    device.ask(asOperator([READ], { approved: true }));
    return device;
  };

  it('is valid as the first one, and is only replaced by an operator', () => {
    const device = withRole();
    expect(device.ask(token('a'))).toMatchObject({ result: { taken: true } });
    expect(device.ask(token('b'))).toMatchObject({ result: { taken: false } });
    expect(device.ask(token('b', { replace: true }))).toMatchObject(code('FORBIDDEN'));
    expect(device.context.roles.operator?.tokenHash).toBe(hash('a'));
    expect(device.decide(token('b', { replace: true }))).toMatchObject({ result: { taken: true } });
    expect(device.context.roles.operator?.tokenHash).toBe(hash('b'));
    expect(device.notices.at(-1)).toMatchObject({ what: 'revoked', role: 'operator' });
  });

  it('that was revoked is removed, and the role remains', () => {
    const device = withRole();
    device.ask(token('a'));
    expect(device.ask({ type: 'device.revoke', role: 'operator' })).toMatchObject(
      code('FORBIDDEN'),
    );
    device.decide({ type: 'device.revoke', role: 'operator' });
    expect(device.context.roles.operator).toMatchObject({ scopes: [READ], revokedAt: device.now });
    expect(device.context.roles.operator?.tokenHash).toBeUndefined();
    expect(device.ask(asOperator([READ]))).toMatchObject(paired);
  });

  it('permits only what its role permits', () => {
    const device = withRole();
    expect(device.ask(token('a', { role: 'node' }))).toMatchObject(code('NOT_FOUND'));
    expect(device.ask(token('a', { scopes: [ADMIN] }))).toMatchObject(code('FORBIDDEN'));
    expect(device.ask(token('a', { hash: 'secret' }))).toMatchObject(code('INVALID_ARGUMENT'));
    device.ask(token('a', { scopes: [] }));
    expect(device.context.roles.operator?.tokenScopes).toEqual([]);
  });
});

describe('the commands of a node', () => {
  const surface = (...names: string[]) => ({
    caps: [],
    commands: names.map((name) => ({ name })),
    permissions: { camera: 'denied' as const, notifications: 'denied' as const },
  });

  it('wait for an operator unless approved before, and cannot be used when not offered', () => {
    const device = Stepped.node();
    const first = device.ask(online({ surface: surface('location.get') }));
    expect(first).toMatchObject({ result: { surface: 'pending' } });
    expect(device.ask(invoke('i1', { command: 'location.get' }))).toMatchObject(code('FORBIDDEN'));
    const { requestId } = device.context.node!.request!;
    expect(device.ask({ type: 'device.surface.approve', requestId })).toMatchObject(
      code('FORBIDDEN'),
    );
    device.decide({ type: 'device.surface.approve', requestId });
    device.ask(online({ surface: surface('location.get', 'canvas.push') }));
    expect(device.context.node?.request?.commands).toEqual(['canvas.push']);
    expect(device.ask(invoke('i1', { command: 'location.get' }))).toBeUndefined();
    expect(device.ask(invoke('i2', { command: 'canvas.push' }))).toMatchObject(code('FORBIDDEN'));
    device.ask(online({ surface: surface('canvas.push') }));
    expect(device.ask(invoke('i3', { command: 'location.get' }))).toMatchObject(code('NOT_FOUND'));
    expect(device.context.node?.approved).toEqual(['location.get']);
  });

  it('are forbidden where the device denies them', () => {
    const device = Stepped.node();
    const names = ['camera.snap', 'system.notify', 'system.which'];
    device.ask(online({ approved: true, surface: surface(...names) }));
    expect(device.ask(invoke('i1'))).toMatchObject({
      error: { code: 'FORBIDDEN', details: { permission: 'camera' } },
    });
    expect(device.ask(invoke('i2', { command: 'system.notify' }))).toMatchObject(code('FORBIDDEN'));
    expect(device.ask(invoke('i3', { command: 'system.which' }))).toBeUndefined();
  });

  it('that change what the device may run are never invoked, even if an operator approved them', () => {
    const device = Stepped.node();
    const names = ['system.execApprovals.get', 'system.execApprovals.set'];
    device.ask(online({ approved: true, surface: surface(...names) }));
    expect(device.context.node?.approved).toEqual(names);
    for (const command of names) {
      expect(device.ask(invoke(command, { command }))).toMatchObject(code('FORBIDDEN'));
    }
  });

  it('are refused while it is away, with parameters that are no JSON, and above the bounds', () => {
    const device = Stepped.node();
    device.ask(online({ approved: true }));
    expect(device.ask(invoke('i0', { paramsJson: '{' }))).toMatchObject(code('INVALID_ARGUMENT'));
    for (let n = 0; n < INVOCATIONS_MAX; n++) device.ask(invoke(`i${n}`));
    expect(device.ask(invoke('more'))).toMatchObject(code('RATE_LIMIT_EXCEEDED'));
    for (let n = 1; n < ASKERS_MAX; n++) expect(device.ask(invoke('i0'))).toBeUndefined();
    expect(device.ask(invoke('i0'))).toMatchObject(code('RATE_LIMIT_EXCEEDED'));
    device.ask({ type: 'device.offline', connId: 'c1' });
    expect(device.context.invocations).toEqual([]);
    expect(device.ask(invoke('later'))).toMatchObject({
      error: { code: 'UNAVAILABLE', details: { outcome: 'none' } },
    });
    device.ask(online({ connId: 'c2', approved: true }));
    expect(
      device.ask(invoke('i0')),
      'a command that never reached the node may be sent again',
    ).toBeUndefined();
  });

  it('are refused when their parameters exceed the bound of the row', () => {
    const device = Stepped.node();
    device.ask(online({ approved: true }));
    const paramsJson = `"${'x'.repeat(PARAMS_CHARACTERS_MAX - 2)}"`;
    const room = PENDING_CHARACTERS_MAX / PARAMS_CHARACTERS_MAX;
    for (let n = 0; n < room; n++)
      expect(device.ask(invoke(`i${n}`, { paramsJson }))).toBeUndefined();
    expect(device.ask(invoke('more'))).toMatchObject(code('RATE_LIMIT_EXCEEDED'));
    device.ask({ type: 'device.taken', id: 'i0', connId: 'c1' });
    expect(device.ask(invoke('more'))).toBeUndefined();
  });
});

describe('the row of a device', () => {
  it('stays small, whatever the device receives, because each turn writes it', () => {
    const device = Stepped.node();
    const wide = (characters: number) => JSON.stringify('€'.repeat(characters));
    const params = { description: '€'.repeat(SURFACE_CHARACTERS_MAX - 1_024) };
    const commands = [{ name: 'camera.snap', params }];
    const surface = { caps: [], commands, permissions: {} };
    device.ask(online({ surface, approved: true }));
    const fill = (prefix: string) => {
      for (let n = 0; n < INVOCATIONS_MAX; n++)
        device.ask(invoke(`${prefix}${n}`, { paramsJson: wide(16_000) }));
    };
    fill('a');
    const payload = { json: wide(PAYLOAD_CHARACTERS_MAX - 2) };
    for (let n = 0; n < INVOCATIONS_MAX; n++)
      device.ask({ type: 'device.result', id: `a${n}`, connId: 'c1', payload });
    fill('b');
    for (let n = 0; n < WAITING_MAX; n++) {
      const item = { itemId: `w${n}`, kind: 'k', payloadJson: wide(8_000), priority: 'low' };
      device.ask({ type: 'device.enqueue', ...item, expiresInMs: 60_000 });
    }
    const bytes = Buffer.byteLength(JSON.stringify(device.context));
    expect(bytes).toBeGreaterThan(2 * 1_024 * 1_024);
    expect(bytes).toBeLessThan(4 * 1_024 * 1_024);
  });
});

describe('the report of a node about itself', () => {
  it('is refused when it would make its row large', () => {
    const device = Stepped.node();
    const params = { description: 'x'.repeat(SURFACE_CHARACTERS_MAX) };
    const surface = { caps: [], commands: [{ name: 'camera.snap', params }], permissions: {} };
    expect(device.ask(online({ surface }))).toMatchObject(code('INVALID_ARGUMENT'));
    expect(device.context.node).toBeNull();
  });
});

describe('an answer', () => {
  const taken = (id: string, connId = 'c1') => ({ type: 'device.taken', id, connId });
  const result = (id: string, changes: object = {}) => ({
    type: 'device.result',
    id,
    connId: 'c1',
    payload: { json: '1' },
    ...changes,
  });
  const working = () => {
    const device = Stepped.node();
    device.ask(online({ approved: true, replays: true }));
    device.ask(invoke('i1'));
    return device;
  };

  it('counts from the first connection that received the command, also an older one', () => {
    const device = working();
    expect(device.ask(result('i1', { connId: 'c9' }))).toMatchObject({ result: { taken: false } });
    expect(device.ask(taken('i1', 'c9'))).toMatchObject({ result: { taken: false } });
    expect(device.ask(taken('i1'))).toMatchObject({ result: { taken: true } });
    device.ask(online({ connId: 'c2', approved: true, replays: true }));
    expect(device.notices.filter(({ type }) => type === 'device.deliver')).toHaveLength(2);
    expect(device.ask(taken('i1'))).toMatchObject({ result: { taken: false } });
    expect(device.ask(result('i1'))).toMatchObject({ result: { taken: true } });
    expect(device.ask(result('i1', { payload: { json: '2' } }))).toMatchObject({
      result: { taken: false },
    });
    expect(device.ask(invoke('i1'))).toMatchObject({ result: { payload: { json: '1' } } });
  });

  it('counts also before the acknowledgement of the command', () => {
    const device = working();
    expect(device.ask(result('i1'))).toMatchObject({ result: { taken: true } });
    expect(device.ask(taken('i1'))).toMatchObject({ result: { taken: false } });
    expect(device.ask(invoke('i1'))).toMatchObject({ result: { payload: { json: '1' } } });
  });

  it('is kept for a while, and then the same key is another command', () => {
    const device = working();
    device.ask(taken('i1'));
    device.ask(result('i1', { payload: undefined, error: { code: 'INTERNAL', message: 'no' } }));
    device.pass(INVOCATION_KEPT_MS - 1);
    expect(device.ask(invoke('i1'))).toMatchObject({ error: { message: 'no' } });
    device.pass(1);
    expect(device.ask(invoke('i1', { paramsJson: '[]' }))).toBeUndefined();
  });

  it('that no longer fits is forgotten, but not that it was delivered', () => {
    const device = Stepped.node();
    device.ask(online({ approved: true }));
    const json = JSON.stringify('x'.repeat(PAYLOAD_CHARACTERS_MAX - 2));
    const ids = Array.from({ length: 8 }, (_, n) => `i${n}`);
    for (const id of ids) {
      device.ask(invoke(id));
      device.ask({ type: 'device.result', id, connId: 'c1', payload: { json } });
    }
    expect(device.ask(invoke('i7'))).toMatchObject({ result: { payload: { json } } });
    const forgotten = device.ask(invoke('i0'));
    expect(forgotten).toMatchObject({ error: { details: { outcome: 'done' } } });
    expect(device.context.invocations, 'it is not carried out again').toEqual([]);
    const kept = JSON.stringify(device.context.ended).length;
    expect(kept).toBeLessThan(KEPT_CHARACTERS_MAX + 8 * 1_024);
  });

  it('that is too long and no file is an error', () => {
    const device = working();
    device.ask(taken('i1'));
    const payload = { json: 'x'.repeat(PAYLOAD_CHARACTERS_MAX + 1) };
    device.ask(result('i1', { payload }));
    expect(device.ask(invoke('i1'))).toMatchObject(code('PAYLOAD_TOO_LARGE'));
  });

  it('is not awaited when the node returns without its record', () => {
    const device = working();
    device.ask(taken('i1'));
    device.ask({ type: 'device.offline', connId: 'c1' });
    expect(device.context.invocations).toHaveLength(1);
    device.ask(online({ connId: 'c2', approved: true }));
    expect(device.ask(invoke('i1'))).toMatchObject({
      error: { code: 'UNAVAILABLE', details: { outcome: 'unknown' } },
    });
  });
});

describe('the decision of an operator', () => {
  it('does not count from an actor, or without the role', () => {
    const device = Stepped.node();
    for (const type of ['device.remove', 'device.rename', 'device.revoke'])
      expect(device.ask({ type, name: 'x', role: 'node' })).toMatchObject(code('FORBIDDEN'));
    const from = address('default', 'agent', 'main');
    const principal = { sub: 'ada', roles: ['operator'] };
    expect(device.ask({ type: 'device.remove' }, { from, principal })).toMatchObject(
      code('FORBIDDEN'),
    );
    expect(device.isGone).toBe(false);
    expect(device.decide({ type: 'device.rename', name: ' ' })).toMatchObject(
      code('INVALID_ARGUMENT'),
    );
    expect(device.decide({ type: 'device.rename', name: 'desk' })).toMatchObject({
      result: { name: 'desk' },
    });
  });

  it('about a node is refused for a device that was never approved as a node', () => {
    const device = new Stepped();
    device.ask(asOperator([READ], { approved: true }));
    expect(device.ask(online())).toMatchObject(code('FORBIDDEN'));
    expect(device.ask(online({ gateway: '' }))).toMatchObject(code('INVALID_ARGUMENT'));
    expect(device.ask(invoke('i1'))).toMatchObject(code('NOT_FOUND'));
  });
});
