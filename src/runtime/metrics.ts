import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

/** Every metric of Hookline by name: dashboards, alerts and the runbook stand on these and on no other. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    /** Called before each scrape, to set gauges that nobody keeps up to date. */
    samplers: new Set<() => void>(),
    /** Webhooks by answer: `stored` is kafka, spool or none. */
    deliveries: new Counter({
      name: 'hookline_deliveries_total',
      help: 'Webhooks answered, by HTTP status and by where the event is',
      labelNames: ['status', 'stored'] as const,
      registers,
    }),
    deliverySeconds: new Histogram({
      name: 'hookline_delivery_seconds',
      help: 'From the head of a webhook to its answer, by where the event is',
      labelNames: ['stored'] as const,
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    refused: new Counter({
      name: 'hookline_deliveries_refused_total',
      help: 'Webhooks not stored, by the code of the error table',
      labelNames: ['code'] as const,
      registers,
    }),
    connectionsOpen: new Gauge({
      name: 'hookline_connections_open',
      help: 'Connections of webhook senders that are open; at most MAX_CONNECTIONS',
      registers,
    }),
    connectionsClosed: new Counter({
      name: 'hookline_connections_closed_total',
      help: 'Connections closed by ingress without an answer, by reason',
      labelNames: ['reason'] as const,
      registers,
    }),
    deadLetters: new Counter({
      name: 'hookline_dead_letters_total',
      help: 'Records sent to the dead-letter topic, by stage',
      labelNames: ['stage'] as const,
      registers,
    }),
    unclassified: new Counter({
      name: 'hookline_unclassified_total',
      help: 'Verified events whose type no schema claims',
      registers,
    }),
    schemaDrift: new Counter({
      name: 'hookline_schema_drift_total',
      help: 'Values that did not fit their field: null in the record, whole in source',
      labelNames: ['topic', 'field'] as const,
      registers,
    }),
    keyMatches: new Counter({
      name: 'hookline_key_matches_total',
      help: 'Deliveries by the key that matched: use is signing or encryption, key its place (0 is the current one)',
      labelNames: ['ref', 'use', 'key'] as const,
      registers,
    }),
    keysLive: new Gauge({
      name: 'hookline_keys_live',
      help: 'Keys that deliveries of a ref are taken with now; use is signing or encryption',
      labelNames: ['ref', 'use'] as const,
      registers,
    }),
    keyLastMatched: new Gauge({
      name: 'hookline_key_last_matched_timestamp_seconds',
      help: 'When a key last matched a delivery, in seconds since 1970; labels as of hookline_key_matches_total',
      labelNames: ['ref', 'use', 'key'] as const,
      registers,
    }),
    topicUnsafe: new Gauge({
      name: 'hookline_topic_unsafe',
      help: '1 where a topic that is written to can lose what was acknowledged (TOPICS_UNSAFE), else 0',
      labelNames: ['topic'] as const,
      registers,
    }),
    publishSeconds: new Histogram({
      name: 'hookline_publish_seconds',
      help: 'From handing a record to the publisher until the brokers confirmed it',
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
      registers,
    }),
    publishAttempts: new Counter({
      name: 'hookline_publish_attempts_total',
      help: 'Produce requests by outcome: confirmed, or how they failed; doubt: the outcome is unknown',
      labelNames: ['outcome'] as const,
      registers,
    }),
    kafkaClients: new Counter({
      name: 'hookline_kafka_clients_opened_total',
      help: 'Producer clients opened; more than eight in an ingress, or more than one in another process, means requests with an unknown outcome',
      registers,
    }),
    publishBacklog: new Gauge({
      name: 'hookline_publish_backlog_bytes',
      help: 'Bytes of records that wait for the brokers',
      registers,
    }),
    bodyMemory: new Gauge({
      name: 'hookline_body_memory_bytes',
      help: 'Memory of MEMORY_BUDGET_BYTES that bodies on their way have taken, small and large ones apart',
      labelNames: ['bodies'] as const,
      registers,
    }),
    bodiesWaiting: new Gauge({
      name: 'hookline_bodies_waiting',
      help: 'Webhooks whose body waits unread for memory, small and large ones apart',
      labelNames: ['bodies'] as const,
      registers,
    }),
    bodiesEvicted: new Counter({
      name: 'hookline_bodies_evicted_total',
      help: 'Webhooks whose body came so slowly that others were given its memory; answered 503. By whether the connection had delivered a verified webhook before',
      labelNames: ['class'] as const,
      registers,
    }),
    largeBodyThreadDeaths: new Counter({
      name: 'hookline_large_body_thread_deaths_total',
      help: 'How often the thread for large bodies ended by itself; what it had was answered 503',
      registers,
    }),
    spoolInUse: gauge('hookline_spool_in_use', '1 while new events go to the spool, else 0'),
    spoolDeliveries: gauge('hookline_spool_deliveries', 'Deliveries in the spool'),
    spoolBytes: gauge('hookline_spool_bytes', 'Bytes of the spool that are in use'),
    spoolKeyMissing: gauge(
      'hookline_spool_key_missing',
      'Deliveries in the spool that no key of SEALING_KEY_FILE opens',
    ),
    spoolMaxBytes: new Gauge({
      name: 'hookline_spool_max_bytes',
      help: 'SPOOL_MAX_BYTES; absent without a spool',
      registers,
    }),
    spoolOldest: new Gauge({
      name: 'hookline_spool_oldest_seconds',
      help: 'Age of the oldest delivery in the spool; 0 where it is empty',
      registers,
    }),
    spoolDrained: new Counter({
      name: 'hookline_spool_drained_total',
      help: 'Deliveries that went from the spool to Kafka',
      registers,
    }),
    commands: new Counter({
      name: 'hookline_commands_total',
      help: 'Commands by type and terminal status',
      labelNames: ['type', 'status'] as const,
      registers,
    }),
    commandSeconds: new Histogram({
      name: 'hookline_command_seconds',
      help: 'From taking a command up to its stored result, by type',
      labelNames: ['type'] as const,
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 600],
      registers,
    }),
    controlWorking: new Gauge({
      name: 'hookline_control_working',
      help: '1 in the control process that executes commands, 0 in those that stand by',
      registers,
    }),
    commandLag: new Gauge({
      name: 'hookline_command_lag',
      help: "Commands that wait to be read: the topic's end less what the consumer group has committed",
      labelNames: ['topic', 'partition'] as const,
      registers,
    }),
    providerRequests: new Counter({
      name: 'hookline_provider_requests_total',
      help: 'Requests to the provider, by operation and outcome',
      labelNames: ['operation', 'outcome'] as const,
      registers,
    }),
    providerSeconds: new Histogram({
      name: 'hookline_provider_request_seconds',
      help: 'Requests to the provider until their answer or failure, by operation',
      labelNames: ['operation'] as const,
      buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    breakerOpen: new Gauge({
      name: 'hookline_provider_breaker_open',
      help: '1 while the provider counts as unavailable and commands wait for it, else 0',
      registers,
    }),
    tokenObtained: new Gauge({
      name: 'hookline_token_obtained_timestamp_seconds',
      help: 'When the access token in use was obtained, in seconds since 1970; absent before the first',
      registers,
    }),
    narrowerScope: new Counter({
      name: 'hookline_token_scope_narrower_total',
      help: 'Access tokens that were granted fewer scopes than were asked for',
      registers,
    }),
    subscriptions: new Gauge({
      name: 'hookline_subscriptions',
      help: 'Subscriptions known, by state',
      labelNames: ['state'] as const,
      registers,
    }),
    drift: new Gauge({
      name: 'hookline_subscription_drift',
      help: 'Subscriptions in which the provider differs from the state, by kind, at the last comparison',
      labelNames: ['kind'] as const,
      registers,
    }),
    repairsWithheld: new Gauge({
      name: 'hookline_repairs_withheld',
      help: 'Subscriptions that the last comparison would have repaired, had they not been more than RECONCILE_REPAIR_MAX',
      registers,
    }),
    reconciled: new Gauge({
      name: 'hookline_reconciled_timestamp_seconds',
      help: 'When this process last compared the two, in seconds since 1970; 0 where another one does',
      registers,
    }),
    ready: gauge('hookline_ready', '1 while /readyz says yes, else 0'),
    loopDelay: gauge(
      'hookline_loop_delay_seconds',
      'Longest time that the event loop was held up since the last scrape',
    ),
  };
}
