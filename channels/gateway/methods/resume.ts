/** `events.resume`: the answer, and behind it at once the events that were missed. */
import type { EventsResumeParams } from '../../../protocols/gateway/index.ts';
import { type MethodTable, published } from './method.ts';
import { ANSWERED, type Request, respond } from './request.ts';

const eventsResume = (request: Request, params: EventsResumeParams) => {
  const { door, connection } = request;
  const resumed = door.replay.resume(connection, params);
  if ('resumed' in resumed) return resumed;
  const { from, to, missed } = resumed;
  door.blocks.moved(params.connId, connection);
  respond(request, { resumed: true, from, to, frames: missed.length });
  for (const head of missed) connection.event(head);
  return ANSWERED;
};

export const resumeTable: MethodTable = [published('events.resume', eventsResume)];
