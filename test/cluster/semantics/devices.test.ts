/** Devices on a cluster of two workers and a gateway. */
import { runOnNats } from '../on-nats.ts';

runOnNats('../../actors/device/live');
