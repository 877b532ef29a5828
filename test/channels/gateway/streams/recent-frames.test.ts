/**
 * What the gateway stores for clients that reconnect. Bug: 4,096 events stayed in memory, 17 MB,
 * although each connection can replay its last 256 only.
 */
import { describe, expect, it } from 'vitest';
import { Replay } from '../../../../channels/gateway/streams/replay.ts';
import { REPLAY_FRAMES_MAX } from '../../../../channels/gateway/limits.ts';
import { eventHead } from '../../../../channels/gateway/transport/event-head.ts';
import { RecentFrames } from '../../../../channels/gateway/transport/recent-frames.ts';
import { systemClock } from '../../../../runtime/index.ts';

function stage() {
  const replay = new Replay(new Set(), systemClock, 'boot');
  const connections = [new RecentFrames(replay), new RecentFrames(replay)] as const;
  const send = (from: number, to: number, receivers: readonly RecentFrames[]) => {
    for (let seq = from; seq <= to; seq++) {
      const head = eventHead('chat', { seq });
      for (const each of receivers) each.add(seq, head);
    }
  };
  return { replay, connections, send };
}

describe('stored events', () => {
  it('are those that a connection could still replay, and no others', () => {
    const { replay, connections, send } = stage();
    send(1, 3_000, connections);
    expect(replay.stored).toBe(REPLAY_FRAMES_MAX);
    for (const each of connections)
      expect(each.range(3_001 - REPLAY_FRAMES_MAX, 3_000)).toHaveLength(REPLAY_FRAMES_MAX);
  });

  it('stay for a slower connection when another one has forgotten them', () => {
    const { replay, connections, send } = stage();
    const [first, second] = connections;
    send(1, 100, connections);
    send(101, 1_000, [first]);
    expect(replay.stored).toBe(100 + REPLAY_FRAMES_MAX);
    expect(second.range(1, 100)).toHaveLength(100);
  });

  it('are dropped when the last connection that had them is forgotten', () => {
    const { replay, connections, send } = stage();
    const [first, second] = connections;
    send(1, 100, connections);
    first.clear();
    expect(second.range(1, 100)).toHaveLength(100);
    second.clear();
    expect(replay.stored).toBe(0);
    expect(second.range(1, 100)).toBeUndefined();
  });

  it('can be replayed again by the connection that received what an earlier one had missed', () => {
    const { connections, send } = stage();
    const [earlier, later] = connections;
    send(1, 3, [earlier]);
    const missed = earlier.range(1, 3)!.map(({ head }) => head!);
    earlier.clear();
    missed.forEach((head, at) => later.add(at + 1, head));
    expect(later.range(1, 3)).toHaveLength(3);
  });
});
