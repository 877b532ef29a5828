/** Who takes part in the flood, on both sides of the kill. */
export const SENDERS = ['s0', 's1', 's2', 's3', 's4', 's5'];
export const RECEIVERS = ['r0', 'r1', 'r2'];
