/** All that may happen to the agent, and what it has promised on every path. */
import { agentMachine } from '../../../actors/agent/machine.ts';
import { ANSWERS_PER_TURN, WAITING_MAX } from '../../../actors/agent/slots.ts';
import type { AgentContext } from '../../../actors/agent/types.ts';
import { address } from '../../../protocols/address.ts';
import type { AgentRow, AgentSettings } from '../../../protocols/agent.ts';
import type { Message, Project, Reply, Tell } from '../../../protocols/statechart.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import { demand, type Exploration, type Happened, said } from '../../charts/coverage.ts';

const self = address('default', 'agent', 'main');
const contextOf = (live: Live) => live.snapshot.context as AgentContext;

const settings = (runsMax: number, tokensPerDay = 0): AgentSettings => ({
  agentId: 'main',
  timeoutMs: 1_000,
  runsMax,
  tokensPerDay,
});

/** What the agent owes to those who asked it, and what it has shown. */
class Slots {
  /** runs that asked and have neither an answer nor been released */
  readonly open: Set<string>;
  readonly admitted: Set<string>;
  row: AgentRow | undefined;

  constructor(from?: Slots) {
    this.open = new Set(from?.open);
    this.admitted = new Set(from?.admitted);
    this.row = from?.row;
  }

  copy(): Slots {
    return new Slots(this);
  }

  take({ cause, meta, step }: Happened): void {
    const event = cause.event as Message & { runId: string };
    const context = contextOf(step.live);
    const tells = said<Tell>(step.asks, 'tell');
    const asksAgain = this.open.has(event.runId) || this.admitted.has(event.runId);
    if (event.type === 'agent.admit' && meta.from && !asksAgain) this.open.add(event.runId);
    if (event.type === 'agent.release' && step.outcome !== 'ignored') {
      this.open.delete(event.runId);
      this.admitted.delete(event.runId);
    }
    for (const { to, event: told } of tells) {
      const runId = told['runId'] as string;
      demand(to).toBe(address('default', 'session', `of-${runId}`));
      const isAgain =
        event.type === 'agent.admit' && event.runId === runId && !this.open.has(runId);
      if (!isAgain) demand(this.open.delete(runId), `an answer to ${runId}`).toBe(true);
      if (told.type === 'agent.admitted') this.admitted.add(runId);
    }
    demand(tells.length).toBeLessThanOrEqual(ANSWERS_PER_TURN + 1);
    demand(context.waiting.map(({ runId }) => runId)).toEqual([...this.open]);
    demand(new Set(context.running.map(({ runId }) => runId)).size).toBe(context.running.length);
    this.#checkRow(step);
    const asked = said<Reply>(step.asks, 'reply').filter(({ to }) => to?.id === meta.id);
    const wantsReply =
      event.type === 'agent.configure' || (event.type === 'agent.admit' && !meta.from);
    demand(asked.length).toBe(wantsReply ? 1 : 0);
  }

  #checkRow({ live, asks }: Happened['step']): void {
    for (const { value } of said<Project>(asks, 'project')) this.row = value as AgentRow;
    if (!this.row) return;
    const { waiting, running } = contextOf(live);
    demand(this.row).toMatchObject({ waiting: waiting.length, running: running.length });
    const state = JSON.stringify(live.snapshot.value);
    demand(state).toContain(this.row.status);
  }
}

const release = (runId: string, inputTokens = 1): Message => ({
  type: 'agent.release',
  runId,
  usage: { inputTokens, outputTokens: 0 },
});

export const exploration: Exploration = {
  machine: agentMachine,
  self,
  ledger: () => new Slots(),
  moves: (live) => {
    const { running, waiting, settings: set } = contextOf(live);
    const ask = (runId: string) => ({
      name: 'admit',
      event: { type: 'agent.admit', runId },
      from: address('default', 'session', `of-${runId}`),
      tell: true as const,
    });
    const first = running[0]?.runId;
    const last = waiting.at(-1)?.runId;
    return [
      ...[settings(1), settings(2), settings(1, 100), settings(100)].map((one) => ({
        name: `configure ${one.runsMax}${one.tokensPerDay ? ' poor' : ''}`,
        event: { type: 'agent.configure', settings: one },
      })),
      ask(`r${live.seq}`),
      { name: 'admit from nobody', event: { type: 'agent.admit', runId: 'x' } },
      ...(first ? [{ ...ask(first), name: 'admit again' }] : []),
      ...(last ? [{ ...ask(last), name: 'admit again while waiting' }] : []),
      ...(first ? [{ name: 'release', event: release(first), tell: true as const }] : []),
      ...(first && set?.tokensPerDay
        ? [{ name: 'release with all tokens', event: release(first, 100), tell: true as const }]
        : []),
      ...(last ? [{ name: 'give up', event: release(last, 0), tell: true as const }] : []),
      ...['agent.pause', 'agent.resume', 'agent.retire'].map((type) => ({
        name: type,
        event: { type },
        tell: true as const,
      })),
    ];
  },
  key: (live) => {
    const { running, waiting, settings: set, tokensToday } = contextOf(live);
    const { value } = live.snapshot;
    if (waiting.length > 2)
      return [value, waiting.length >= WAITING_MAX, waiting.length > ANSWERS_PER_TURN];
    const spent = Boolean(set?.tokensPerDay) && tokensToday >= 100;
    return [
      value,
      Math.min(running.length, 3),
      waiting.length,
      set?.runsMax,
      set?.tokensPerDay,
      spent,
    ];
  },
  scripts: [
    ['configure 1', ...Array<string>(40).fill('admit')],
    ['configure 1', ...Array<string>(WAITING_MAX + 1).fill('admit')],
    ['configure 1', 'agent.pause', ...Array<string>(WAITING_MAX).fill('admit')],
    ['configure 1', 'agent.pause', ...Array<string>(40).fill('admit'), 'agent.retire'],
  ],
};
