/** Lives of actors on a cluster: supervision, timers, passivation. */
import { runOnNats } from '../on-nats.ts';

runOnNats('supervision', 'timers', 'passivation');
