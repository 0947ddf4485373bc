import type { Metrics } from '../runtime/metrics.ts';

/** Commands, the provider and the reconciler. */
export const controlMetrics = (metrics: Metrics) => ({
  commands: metrics.counter({
    name: 'hookline_commands_total',
    help: 'Commands by type and terminal status',
    labels: ['type', 'status'],
  }),
  commandSeconds: metrics.histogram({
    name: 'hookline_command_seconds',
    help: 'From taking a command up to its stored result, by type',
    labels: ['type'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 600],
  }),
  controlWorking: metrics.gauge({
    name: 'hookline_control_working',
    help: '1 in the control process that executes commands, 0 in those that stand by',
  }),
  commandLag: metrics.gauge({
    name: 'hookline_command_lag',
    help: "Commands that wait to be read: the topic's end less what the consumer group has committed",
    labels: ['topic', 'partition'],
  }),
  providerRequests: metrics.counter({
    name: 'hookline_provider_requests_total',
    help: 'Requests to the provider, by operation and outcome',
    labels: ['operation', 'outcome'],
  }),
  providerSeconds: metrics.histogram({
    name: 'hookline_provider_request_seconds',
    help: 'Requests to the provider until their answer or failure, by operation',
    labels: ['operation'],
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  }),
  breakerOpen: metrics.gauge({
    name: 'hookline_provider_breaker_open',
    help: '1 while the provider counts as unavailable and commands wait for it, else 0',
  }),
  tokenObtained: metrics.gauge({
    name: 'hookline_token_obtained_timestamp_seconds',
    help: 'When the access token in use was obtained, in seconds since 1970; absent before the first',
  }),
  narrowerScope: metrics.counter({
    name: 'hookline_token_scope_narrower_total',
    help: 'Access tokens that were granted fewer scopes than were asked for',
  }),
  subscriptions: metrics.gauge({
    name: 'hookline_subscriptions',
    help: 'Subscriptions known, by state',
    labels: ['state'],
  }),
  drift: metrics.gauge({
    name: 'hookline_subscription_drift',
    help: 'Subscriptions in which the provider differs from the state, by kind, at the last comparison',
    labels: ['kind'],
  }),
  repairsWithheld: metrics.gauge({
    name: 'hookline_repairs_withheld',
    help: 'Subscriptions that the last comparison would have repaired, had they not been more than RECONCILE_REPAIR_MAX',
  }),
  comparisonsFailed: metrics.gauge({
    name: 'hookline_comparisons_failed',
    help: 'Comparisons of the provider with the state that have failed since the last one that did not',
  }),
  reconciled: metrics.gauge({
    name: 'hookline_reconciled_timestamp_seconds',
    help: 'When this process last compared the two, in seconds since 1970; 0 where another one does',
  }),
});
