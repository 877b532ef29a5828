/**
 * Scaling of workers by KEDA, on metrics of troupe itself. A worker is limited by its event loop,
 * which uses one core; the lag of mailboxes shows that the present ones do not suffice.
 *
 * Each change of the number moves shards, so it grows within minutes and shrinks slowly. It is
 * never zero: shards need an owner, and timers would wait.
 */
import { labelsOf, type Manifest } from './parts.ts';
import type { Values } from './values.ts';

/** A busy share of the event loop, per worker. */
const EVENT_LOOP_TARGET = '0.6';
/** Waiting messages per worker. */
const LAG_TARGET = '500';

export const autoscalingManifests = (values: Values): Manifest[] => [
  {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: { name: 'troupe-worker', labels: labelsOf('worker') },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'troupe-worker' },
      pollingInterval: 30,
      cooldownPeriod: 300,
      minReplicaCount: values.whole('minReplicas', 2),
      maxReplicaCount: values.whole('maxReplicas', 10),
      // without metrics: the usual number, not the smallest
      fallback: { failureThreshold: 3, replicas: values.whole('fallbackReplicas', 4) },
      advanced: { horizontalPodAutoscalerConfig: { behavior } },
      triggers: [
        trigger(values, 'troupe_event_loop_utilization', EVENT_LOOP_TARGET),
        trigger(values, 'troupe_mailbox_lag', LAG_TARGET),
      ],
    },
  },
];

const behavior = {
  scaleUp: {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [
      { type: 'Percent', value: 100, periodSeconds: 60 },
      { type: 'Pods', value: 4, periodSeconds: 60 },
    ],
  },
  scaleDown: {
    stabilizationWindowSeconds: 600,
    policies: [{ type: 'Pods', value: 1, periodSeconds: 120 }],
  },
};

/** The sum over workers, divided by KEDA among them. */
const trigger = (values: Values, metric: string, threshold: string): object => ({
  type: 'prometheus',
  metricType: 'AverageValue',
  metadata: {
    serverAddress: values.whole('prometheus', 'http://prometheus.monitoring:9090'),
    query: `sum(avg_over_time(${metric}{job="${values.part('job', 'troupe-worker')}"}[2m]))`,
    threshold,
    // no answer is a failure, for the fallback, and no load of zero
    ignoreNullValues: 'false',
  },
});
