import { beforeEach, describe, expect, it } from 'vitest';
import { HEARTBEAT_SUBJECT, type Heartbeat } from '../../../runtime/cluster/heartbeat.ts';
import { Members, type MemberEvent } from '../../../runtime/cluster/members.ts';
import { SimProcess } from '../../../library/simulation/process.ts';
import { Random } from '../../../library/simulation/random.ts';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';
import { Link, SimNetwork } from './sim-network.ts';

class Node {
  readonly process: SimProcess;
  readonly link: Link;
  readonly members: Members;
  readonly events: MemberEvent[] = [];
  readonly heartbeats: Heartbeat[] = [];
  weight = 1;
  eventLoop = 0;

  constructor(network: SimNetwork, id: string, name = id) {
    this.process = new SimProcess(id, network.clock, 0);
    this.link = new Link(network, this.process);
    const self = (): Omit<Heartbeat, 'seq'> => ({
      node: id,
      name,
      role: 'worker',
      startedAtMs: 0,
      version: '1',
      weight: this.weight,
      draining: false,
      leaving: false,
      types: [],
      load: { cpu: 0, eventLoop: this.eventLoop, effects: 0, rssBytes: 0, turnsPerSecond: 0 },
      shards: [],
    });
    this.members = new Members({ bus: this.link, clock: this.process.clock, self });
    this.members.onEvent((event) => void this.events.push(event));
    this.members.onHeartbeat((heartbeat) => void this.heartbeats.push(heartbeat));
    this.members.start();
  }

  get sees(): string {
    return this.members
      .alive()
      .map(({ heartbeat }) => heartbeat.node)
      .sort()
      .join(' ');
  }

  heard(kind: MemberEvent['kind']): MemberEvent[] {
    return this.events.filter((event) => event.kind === kind);
  }
}

describe('members', () => {
  let clock: VirtualClock;
  let network: SimNetwork;
  let a: Node;
  let b: Node;
  let c: Node;
  const join = (id: string, name = id) => new Node(network, id, name);
  const after = (ms: number) => clock.run(clock.monotonicMs() + ms);

  beforeEach(async () => {
    clock = new VirtualClock();
    network = new SimNetwork(clock, new Random(1));
    a = join('a');
    b = join('b');
    c = join('c');
    await after(3_000);
  });

  it('find each other quickly, and take shards only after a listening period', async () => {
    const late = join('late');
    await after(60);
    expect(late.sees).toBe('a b c late');
    expect(late.members.settled).toBe(false);
    await after(600);
    expect(late.members.settled).toBe(true);
    expect(a.sees).toBe('a b c late');
  });

  it('detect a killed member at once, because its subject has no responder', async () => {
    b.process.kill();
    await after(450);
    expect([a.sees, c.sees]).toEqual(['a c', 'a c']);
    expect(a.heard('died')).toMatchObject([{ why: 'no process listens at its subject' }]);
  });

  it('declare a frozen member dead after a second, and not before', async () => {
    b.process.pause();
    await after(790);
    expect(a.sees).toBe('a b c');
    await after(400);
    expect(a.sees).toBe('a c');
    expect(a.heard('died')).toMatchObject([{ why: expect.stringMatching(/^silent for/) }]);
  });

  it('accept a member again that was declared dead and sends heartbeats again', async () => {
    b.process.pause();
    await after(5_000);
    b.process.resume();
    await after(100);
    expect(a.sees).toBe('a b c');
    expect(a.heard('joined').at(-1)).toMatchObject({ heartbeat: { node: 'b' } });
  });

  it('keep a member whose heartbeats are lost while it answers requests', async () => {
    const publish = b.link.publish.bind(b.link);
    b.link.publish = (subject, payload) => {
      if (subject !== HEARTBEAT_SUBJECT) publish(subject, payload);
    };
    await after(5_000);
    expect([a.sees, c.sees]).toEqual(['a b c', 'a b c']);
  });

  it('remove a member that leaves, and ignore its late messages', async () => {
    const last = a.heartbeats.filter(({ node }) => node === 'b').at(-1)!;
    b.members.leave();
    await after(50);
    expect(a.sees).toBe('a c');
    expect(a.heard('left')).toHaveLength(1);
    c.link.publish(HEARTBEAT_SUBJECT, { ...last, seq: last.seq + 100 });
    await after(50);
    expect(a.sees).toBe('a c');
    expect(a.heard('died')).toEqual([]);
  });

  it('do not treat a late message of a dead member as a heartbeat', async () => {
    const last = a.heartbeats.filter(({ node }) => node === 'b').at(-1)!;
    b.process.kill();
    await after(1_000);
    c.link.publish(HEARTBEAT_SUBJECT, last);
    await after(50);
    expect(a.sees).toBe('a c');
  });

  it('declare no member dead after their own process was paused', async () => {
    // Catches a process that resumes after a pause, finds that all others have been silent for five
    // seconds, and takes over all shards.
    a.process.pause();
    await after(5_000);
    a.process.resume();
    expect(a.members.settled).toBe(false);
    await after(450);
    expect(a.members.settled).toBe(false);
    expect(a.heard('stalled')).toHaveLength(1);
    await after(2_000);
    expect(a.members.settled).toBe(true);
    expect(a.sees).toBe('a b c');
    expect(a.heard('died')).toEqual([]);
  });

  it('detect members that died during that pause', async () => {
    a.process.pause();
    await after(2_000);
    b.process.kill();
    await after(2_000);
    a.process.resume();
    await after(1_500);
    expect(a.sees).toBe('a c');
  });

  it('declare no member dead while their connection is down, and listen again when it is restored', async () => {
    for (const { link } of [a, b, c]) link.connected = false;
    await after(10_000);
    expect(a.members.settled).toBe(false);
    expect(a.sees).toBe('a b c');
    for (const { link } of [a, b, c]) {
      link.connected = true;
      await after(300);
    }
    await after(2_000);
    expect([a.sees, b.sees, c.sees]).toEqual(['a b c', 'a b c', 'a b c']);
    expect([a, b, c].flatMap((node) => node.heard('died'))).toEqual([]);
    expect(a.members.settled).toBe(true);
  });

  it('declare no member dead while they do not receive their own heartbeats', async () => {
    a.link.isCut = true;
    await after(10_000);
    expect(a.members.settled).toBe(false);
    expect(a.heard('died')).toEqual([]);
    expect(b.sees).toBe('b c');
    a.link.isCut = false;
    await after(2_000);
    expect(a.members.settled).toBe(true);
    expect([a.sees, b.sees]).toEqual(['a b c', 'a b c']);
  });

  it('publish a change at once, and several in one heartbeat', async () => {
    await after(100);
    const before = a.heartbeats.filter(({ node }) => node === 'b').length;
    b.weight = 3;
    for (let i = 0; i < 50; i++) b.members.heartbeatSoon();
    await after(30);
    expect(a.heartbeats.filter(({ node }) => node === 'b').length - before).toBe(1);
    expect(a.heard('changed')).toMatchObject([{ heartbeat: { node: 'b', weight: 3 } }]);
  });

  it('publish a lower weight when they are busier than the others', async () => {
    b.weight = 2;
    b.eventLoop = 0.9;
    await after(40_000);
    expect(
      a.members.alive().find(({ heartbeat }) => heartbeat.node === 'b')?.heartbeat.weight,
    ).toBe(1.8);
    expect(a.members.self.weight).toBe(1);
  });

  it('place a name that keeps dying on a probation that doubles, and remove it after a minute', async () => {
    const seen: number[] = [];
    for (let round = 0; round < 7; round++) {
      const node = join(`flap.${round}`, 'flap');
      await after(1_000);
      node.process.kill();
      await after(1_000);
      seen.push(a.members.probationMs('flap'));
    }
    expect(seen).toEqual([0, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(a.members.probationMs('b')).toBe(0);
    await after(61_000);
    expect(a.members.probationMs('flap')).toBe(0);
  });
});
