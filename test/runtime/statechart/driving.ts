/** The calls with which tests drive a hosted machine. */
import type { AnyStateMachine } from 'xstate';
import type { Message } from '../../../protocols/statechart.ts';
import { initialState, type Live, type Step, step } from '../../../runtime/statechart/host.ts';
import { input, meta } from './machines.ts';

export const begin = (machine: AnyStateMachine): Live => initialState(machine, input, meta).live;

export const send = (machine: AnyStateMachine, live: Live, event: Message, now = 1000): Step =>
  step(machine, live, { event: { ...event, meta } }, now);

/** The machine after the given events; every event must be accepted. */
export const after = (machine: AnyStateMachine, live: Live, ...events: Message[]): Live =>
  events.reduce((at, event) => {
    const { outcome, live: next, error } = send(machine, at, event);
    if (outcome !== 'moved' && outcome !== 'unchanged') {
      throw new Error(`${event.type} is ${outcome}: ${error?.message ?? ''}`);
    }
    return next;
  }, live);

/** The key of an open job. */
export const job = (live: Live, id: string): string => live.jobs[id]!.key;
