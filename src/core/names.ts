/** Hookline's own topics, beside one per event type; the part behind TOPIC_PREFIX. */
export const OWN_TOPICS = {
  deadLetter: 'dead-letter',
  commands: 'commands',
  results: 'command-results',
  subscriptions: 'subscriptions',
  audit: 'audit',
  probe: 'probe',
} as const;

/**
 * What `hookline verify` sends: a webhook of this type, through this ref. The ref decides: what comes through it goes to the topic
 * of probes or, where it is no probe, to the dead-letter topic; what comes through another ref never goes there, whatever its type.
 */
export const PROBE = { ref: 'hookline-probe', type: 'hookline-probe' } as const;

export const topicName = (prefix: string, topic: string): string => `${prefix}.${topic}`;

/** The registry's subject for a topic's values. */
export const subjectOf = (topicName: string): string => `${topicName}-value`;

/** The name of a subscription in Hookline, and the last part of its receiver's address. */
export const REF = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** What a ref may be, in words. */
export const REF_RULE = 'give at most 63 of a-z, 0-9 and hyphens, no hyphen first';

export const isRef = (text: unknown): text is string => typeof text === 'string' && REF.test(text);
