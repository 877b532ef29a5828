/**
 * The busy share of the event loop, independent of who reads it: the active time since the start,
 * whose rate is the share, and the share of a window that ends now.
 */
import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { Counter, type Registry } from 'prom-client';
import { addGauge } from './gauges.ts';

const SAMPLE_MS = 5_000;
/** So the window has between 10 and 15 seconds. */
const SAMPLES = 3;

export function watchEventLoop(registry: Registry): void {
  const active = new Counter({
    name: 'troupe_event_loop_active_seconds_total',
    help: 'time in which the event loop was busy; its rate is the busy share',
    registers: [registry],
    collect() {
      active.reset();
      active.inc(performance.eventLoopUtilization().active / 1_000);
    },
  });
  const samples: EventLoopUtilization[] = [performance.eventLoopUtilization()];
  setInterval(() => {
    samples.push(performance.eventLoopUtilization());
    if (samples.length > SAMPLES) samples.shift();
  }, SAMPLE_MS).unref();
  const gauge = {
    name: 'troupe_event_loop_utilization',
    help: 'busy share of the event loop in the last 10 to 15 seconds',
  };
  addGauge(registry, gauge, () => {
    const now = performance.eventLoopUtilization();
    return performance.eventLoopUtilization(now, samples[0]).utilization;
  });
}
