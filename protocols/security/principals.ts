/** Principals of messages that troupe sends on its own behalf, not for a user. */

/** The processes of the installation: they configure the root and register agents. */
export const SYSTEM_PRINCIPAL = { sub: 'system', roles: ['operator'] };
