/** Processes of a cluster that their own actors and effects kill. */
import { runOnNats } from '../on-nats.ts';

runOnNats('poison');
