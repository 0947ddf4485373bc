import { commandTopicsSetting } from '../core/command-topics.ts';
import { integer, milliseconds, oneOf, path, text, url } from '../core/env-settings.ts';

export const controlSettings = {
  publicUrl: url('PUBLIC_URL', {
    about:
      'address under which the payment service reaches ingress; receivers are {PUBLIC_URL}/webhooks/{ref}',
  }),
  commandTopics: commandTopicsSetting(''),
  commandDeadlineMs: milliseconds('COMMAND_DEADLINE_MS', {
    about:
      'longest time from the start of a command to its outcome, after which it has FAILED; its turn among the commands is waited for before',
    fallback: '600000',
    min: 1,
  }),
  reconcile: oneOf('RECONCILE', {
    about:
      'what is done where the payment service has something else than the state says: off, report, or repair too; foreign subscriptions are never touched',
    fallback: 'report',
    values: ['off', 'report', 'repair'],
  }),
  reconcileIntervalMs: milliseconds('RECONCILE_INTERVAL_MS', {
    about:
      'how often the two are compared, and deleted subscriptions forgotten whose keys are no longer live',
    fallback: '300000',
    min: 100,
  }),
  reconcileRepairMax: integer('RECONCILE_REPAIR_MAX', {
    about:
      'how many subscriptions one comparison may repair: where more would be changed none is, and an alert says so',
    fallback: '5',
    min: 0,
  }),
  groupId: text('CONTROL_GROUP_ID', {
    about: 'consumer group of the control processes: one of them works, the others stand by',
    fallback: 'hookline-control',
  }),
  sessionTimeoutMs: milliseconds('CONTROL_SESSION_TIMEOUT_MS', {
    about:
      'how long the control process that works may be silent before another takes its place; the brokers allow no less than their group.min.session.timeout.ms',
    fallback: '10000',
    min: 1_000,
  }),
  sealingKeyFile: path('SEALING_KEY_FILE', {
    about:
      'file with the key that seals subscription secrets in Kafka: 32 bytes as hex, base64 or text; one per line',
  }),
};
