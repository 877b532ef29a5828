/** The actors of the flood, on both sides of the kill. */
export const SENDERS = Array.from({ length: 24 }, (_, s) => `s${s}`);
export const RECEIVERS = ['r0', 'r1', 'r2'];
