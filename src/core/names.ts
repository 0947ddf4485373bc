/** Hookline's own topics, beside one per event type; the part behind TOPIC_PREFIX. */
export const OWN_TOPICS = {
  deadLetter: 'dead-letter',
  commands: 'commands',
  results: 'command-results',
  subscriptions: 'subscriptions',
} as const;

export const topicName = (prefix: string, topic: string): string => `${prefix}.${topic}`;

/** The registry's subject for a topic's values. */
export const subjectOf = (topicName: string): string => `${topicName}-value`;
