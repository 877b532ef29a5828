/** `events.resume`: answers, and then sends the events that the client missed. */
import type { Replay } from '../streams/replay.ts';
import type { RunBlocks } from '../streams/run-blocks.ts';
import type { EventsResumeParams } from '../../../protocols/gateway/index.ts';
import { type MethodTable, published } from './method.ts';
import { ANSWERED, type Request, respond } from './request.ts';

/** What resuming the events of an earlier connection needs. */
export type ResumeContext = { readonly replay: Replay; readonly blocks: RunBlocks };

const eventsResume = (request: Request<ResumeContext>, params: EventsResumeParams) => {
  const { context, connection } = request;
  const resumed = context.replay.resume(connection, params);
  if ('resumed' in resumed) return resumed;
  const { from, to, missed } = resumed;
  context.blocks.resumed(params.connId, connection);
  respond(request, { resumed: true, from, to, frames: missed.length });
  for (const head of missed) connection.event(head);
  return ANSWERED;
};

export const resumeTable: MethodTable<ResumeContext> = [published('events.resume', eventsResume)];
