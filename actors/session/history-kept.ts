/** What history keeps of sessions, unless `runtime.history.types.session` says otherwise. */
export const sessionHistory = { keep: 'full', days: 7 } as const;
