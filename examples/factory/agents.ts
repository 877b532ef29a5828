/** The agents of the trip: an airline, a hotel, and a travel desk that reads their records. */
import { Type } from '@sinclair/typebox';
import { type ActionDefinition, defineAction, type StartOptions } from 'troupe/agents';
import { bookTrip } from './trip.ts';
import type { World } from './world.ts';

/** In the form that `startTroupe` accepts. */
export const travelAgents = (world: World): Pick<StartOptions, 'actions' | 'processes'> => ({
  processes: [bookTrip],
  actions: [...airline(world), hotel(world), travelDesk(world)],
});

const City = Type.Object({ city: Type.String() });
const Reference = Type.Object({ reference: Type.String() });

const airline = (world: World): readonly ActionDefinition[] => [
  defineAction({
    action: 'airline.book_seat',
    version: '1.0.0',
    description: 'Books a seat.',
    agent: 'airline',
    schemas: { '1.0': City },
    // All attempts have the same key, by which the airline recognizes a repeat.
    perform: (payload, { idempotencyKey }) => {
      world.bookSeat(idempotencyKey, String(payload['city']));
      return Promise.resolve({ reference: idempotencyKey });
    },
  }),
  defineAction({
    action: 'airline.cancel_seat',
    version: '1.0.0',
    description: 'Cancels a seat, if there is one.',
    agent: 'airline',
    schemas: { '1.0': Reference },
    perform: (payload) => {
      world.cancelSeat(String(payload['reference']));
      return Promise.resolve({ cancelled: payload['reference'] });
    },
  }),
];

const hotel = (world: World): ActionDefinition =>
  defineAction({
    action: 'hotel.book_room',
    version: '1.0.0',
    description: 'Books a room.',
    agent: 'hotel',
    schemas: { '1.0': City },
    perform: async (payload, { idempotencyKey }) => {
      await world.bookRoom(idempotencyKey, String(payload['city']));
      return { reference: idempotencyKey };
    },
  });

const travelDesk = (world: World): ActionDefinition =>
  defineAction({
    action: 'travel_desk.check_booking',
    version: '1.0.0',
    description: 'Reads the records of airline and hotel, and stores what it found.',
    agent: 'travel_desk',
    schemas: {
      '1.0': Type.Object({
        job_id: Type.String(),
        reference: Type.String(),
        wanted: Type.Boolean(),
      }),
    },
    evidence: true,
    perform: async (payload, context) => {
      const { artifacts, tenant } = context;
      const found = world.has(String(payload['reference']));
      const saw = Buffer.from(JSON.stringify({ ...payload, found: found ?? null }));
      const { hash } = await artifacts.put(tenant, saw, { contentType: 'application/json' });
      return {
        job_id: payload['job_id'],
        verified: (found !== undefined) === payload['wanted'],
        ...(await artifacts.sign(tenant, hash)),
        evidence_ts: new Date(context.now()).toISOString(),
        source_kind: 'booking',
        verifier: 'travel_desk',
        detail: found ? 'it is in the book' : 'it is not in the book',
      };
    },
  });
