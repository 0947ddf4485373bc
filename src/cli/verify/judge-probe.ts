import { recordName } from '../../core/record.ts';
import { type Finding, fault, ok, skipped, unknown } from '../shell/finding.ts';
import type { SeenProbe } from './await-probe.ts';
import type { ProbeAnswer } from './send-probe.ts';

const seconds = (value: number) => `${value.toFixed(3)} s`;

const REMEDIES: Readonly<Record<number, string>> = {
  401: 'make SECRETS_DIR/hookline-probe here and in ingress the same',
  403: 'add the address of this host to ALLOWED_SOURCES',
  503: 'see HooklineWebhooksNotStored in the runbook',
};

/** What the answer of ingress says. */
export function judgeAcknowledgement({ fault: why, status, stored, seconds: took }: ProbeAnswer): Finding {
  if (why === null) return ok('acknowledged', `200 from ${stored} after ${seconds(took)}`);
  const remedy = status === null ? 'start ingress, or correct VERIFY_URL' : REMEDIES[status];
  return fault('acknowledged', why, remedy ?? 'check what answers at VERIFY_URL');
}

/** Whether the record came, and what it means where it did not. */
export function judgeRecord(
  answer: Pick<ProbeAnswer, 'fault' | 'stored'>,
  seen: SeenProbe | null,
  {
    recordSeconds,
    timeoutMs,
    trouble,
  }: {
    readonly recordSeconds: number | null;
    readonly timeoutMs: number;
    /** Why the topic cannot be read here, or null. */
    readonly trouble: string | null;
  },
): Finding {
  if (answer.fault !== null) return skipped('record', 'the probe was not acknowledged');
  if (seen && recordSeconds !== null) {
    const at = recordName(seen.position);
    return seen.fault === null
      ? ok('record', `${at} after ${seconds(recordSeconds)}`)
      : fault('record', `${at}: ${seen.fault}`, 'check the schema registry, and who writes to the topic');
  }
  const later = `${timeoutMs / 1_000} s later`;
  if (answer.stored === 'spool') {
    const why = trouble === null ? '' : `; the topic cannot be read here: ${trouble}`;
    const text = `acknowledged into the spool, and not in its topic ${later}${why}`;
    return fault('record', text, 'see HooklineSpoolInUse in the runbook');
  }
  if (trouble !== null) {
    const remedy = 'check KAFKA_BROKERS, and the right Read';
    return unknown('record', `the topic cannot be read: ${trouble}`, remedy);
  }
  return fault(
    'record',
    `acknowledged as stored in Kafka, and not in its topic ${later}`,
    'check that KAFKA_BROKERS and TOPIC_PREFIX are those of ingress; if they are, report it',
  );
}
