/** Effects and reads on a cluster: on whichever worker they run, and on a gateway's copies. */
import { runOnNats } from '../on-nats.ts';

runOnNats('effects', 'once', 'reads');
