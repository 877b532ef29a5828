/** Tasks on a cluster: the suites of test/actors/task, unchanged. */
import { runOnNats } from '../on-nats.ts';

runOnNats('../../actors/task/live', '../../actors/task/outcomes');
