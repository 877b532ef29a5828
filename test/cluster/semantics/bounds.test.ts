/** Bounds, versions and retention on a cluster. */
import { runOnNats } from '../on-nats.ts';

runOnNats('bounds', 'versions', 'retention');
