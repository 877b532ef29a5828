/** The shared messages, rows and schemas of actors, entry points and stores. */
export * from './address.ts';
export * from './agent.ts';
export * from './check.ts';
export * from './codec.ts';
export * from './envelope.ts';
export * from './errors.ts';
export * from './gateway/index.ts';
export * from './session-key.ts';
export * from './session.ts';
export * from './statechart.ts';
export * from './subjects.ts';
export * from './supervision.ts';
