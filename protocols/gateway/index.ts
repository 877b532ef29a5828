export * from './agent.ts';
export * from './approvals.ts';
export * from './chat.ts';
export * from './connect.ts';
export * from './events.ts';
export * from './frames.ts';
export * from './methods.ts';
export * from './sessions.ts';
