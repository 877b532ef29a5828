/** Tasks on a cluster: the suite of test/actors/task, unchanged. */
import { runOnNats } from '../on-nats.ts';

runOnNats('../../actors/task/live');
