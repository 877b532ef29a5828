/**
 * A trip: a seat and a room, or neither. It has two actions, the compensation of the first one, and
 * an agent that verifies.
 */
import { Type } from '@sinclair/typebox';
import { defineProcess } from 'troupe/agents';

const looks = (wanted: boolean) => ({
  action: 'travel_desk.check_booking',
  version: '1.0.0',
  payload: (_: unknown, __: unknown, about: { processId: string; taskId: string }) => ({
    job_id: about.processId,
    reference: about.taskId,
    wanted,
  }),
});

export const bookTrip = defineProcess({
  action: 'travel.book_trip',
  version: '1.0.0',
  description: 'Books a seat and a room in a city, or neither.',
  payload: Type.Object({ city: Type.String({ minLength: 1 }) }),
  steps: [
    {
      name: 'seat',
      action: 'airline.book_seat',
      version: '1.0.0',
      payload: ({ city }) => ({ city }),
      verify: looks(true),
      compensate: {
        action: 'airline.cancel_seat',
        version: '1.0.0',
        // The reference of the seat is the id of the task that booked it.
        payload: (_, __, { taskId }) => ({ reference: taskId }),
        verify: looks(false),
      },
    },
    {
      name: 'room',
      action: 'hotel.book_room',
      version: '1.0.0',
      payload: ({ city }) => ({ city }),
      verify: looks(true),
    },
  ],
});
