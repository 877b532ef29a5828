/** Sagas and the shipped agents on a cluster: their suites, unchanged. */
import { runOnNats } from '../on-nats.ts';

runOnNats('../../actors/process/saga', '../../sample-agents/publish');
