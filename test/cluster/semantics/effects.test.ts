/** Effects and reads on a cluster: on any worker, and on a gateway's replicas. */
import { runOnNats } from '../on-nats.ts';

runOnNats('effects', 'once', 'reads');
