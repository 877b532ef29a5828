/** Principals of messages that troupe sends by itself, on behalf of no user. */

/** The processes of the installation: they configure the root and register agents. */
export const SYSTEM_PRINCIPAL = { sub: 'system', roles: ['operator'] };
