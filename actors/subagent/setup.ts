/** Setup: the names that the subagent's chart is written in: its types, actions, guards, delays. */
import { assign, setup } from 'xstate';
import { type ActorInput, hostActions } from '../../protocols/statechart.ts';
import * as life from './life.ts';
import type { SubagentContext, SubagentEvent } from './types.ts';

export const subagentSetup = setup({
  types: {
    context: {} as SubagentContext,
    events: {} as SubagentEvent,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    take: assign(life.take),
    start: assign(life.start),
    accept: assign(life.accept),
    count: assign(life.count),
    countSteer: assign(life.countSteer),
    fail: assign(life.fail),
    timeOut: assign(life.timeOut),
    kill: assign(life.kill),
    giveUpWaiting: assign(life.giveUpWaiting),
    noteRefused: assign(life.noteRefused),
    conclude: assign(life.conclude),
    move: assign(life.move),
    noteReport: assign(life.noteReport),
    waitForAdoption: assign(life.waitForAdoption),
    noteUnreported: assign(life.noteUnreported),
  },
  guards: {
    holds: life.holds,
    taskIsRefused: life.taskIsRefused,
    isItsRun: life.isItsRun,
    isLast: life.isLast,
    goesOn: life.goesOn,
    endsOk: life.endsOk,
    endsLate: life.endsLate,
    leavesOthers: life.leavesOthers,
    stopsAs: life.stopsAs,
    isSaying: life.isSaying,
    isMoved: life.isMoved,
    isTooEarly: life.isTooEarly,
    hasParent: life.hasParent,
    isByParent: life.isByParent,
    mayPass: life.mayPass,
    endIsRefused: life.endIsRefused,
    hasSession: life.hasSession,
  },
  delays: {
    placePatience: life.PLACE_MS,
    wholeTime: life.wholeTimeMs,
    stopPatience: life.STOP_MS,
    hearingPatience: life.HEARD_MS,
    pauseBeforeRetelling: life.RETELL_MS,
    readableTime: life.readableMs,
    rememberedTime: life.rememberedMs,
  },
});
