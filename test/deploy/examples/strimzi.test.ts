import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { eventSchemasIn } from '../../../src/avro/event-schema.ts';
import { parseCommandTopics } from '../../../src/config/command-topics.ts';
import { topicSpecs } from '../../../src/kafka/admin/topic-specs.ts';
import { readFile } from '../../support/generated/files.ts';

type Topic = {
  metadata: { name: string };
  spec: { partitions: number; replicas: number; config: Record<string, string | number> };
};
type User = { metadata: { name: string } };

const DIR = 'deploy/examples/strimzi';
const values = parse(readFile(`${DIR}/values.yaml`));
const all = <T>(file: string) =>
  parseAllDocuments(readFile(`${DIR}/${file}`)).map((document) => document.toJSON() as T);

describe('the Strimzi examples', () => {
  it('have the topics that hookline topics plan asks for, with their settings', () => {
    const topics = all<Topic>('topics.yaml').map(({ metadata, spec }) => ({
      name: metadata.name,
      partitions: spec.partitions,
      replicationFactor: spec.replicas,
      config: Object.fromEntries(Object.entries(spec.config).map(([name, value]) => [name, String(value)])),
    }));
    const specs = topicSpecs({
      prefix: 'payments',
      eventTopics: eventSchemasIn(undefined).all.map(({ topic }) => topic),
      commandTopics: parseCommandTopics(values.commandTopics.join(',')).map(({ name }) => name),
      partitions: 6,
      replicationFactor: 3,
      maxRecordBytes: 95_000_000,
      minInsyncReplicas: 2,
    });
    const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);
    expect(topics.toSorted(byName)).toEqual(specs.toSorted(byName));
  });

  it('have the users that the values name', () => {
    const users = all<User>('users.yaml').map(({ metadata }) => metadata.name);
    for (const { username, passwordSecret } of Object.values<Record<string, string>>(
      values.kafka.credentials,
    )) {
      expect(users).toContain(username);
      // Strimzi's Secret has the name of its user.
      expect(passwordSecret).toBe(username);
    }
  });

  it('have a cluster that takes the largest record, by the name that topics and values know', () => {
    const { metadata, spec } = parse(readFile(`${DIR}/kafka.yaml`));
    const largest = Math.max(
      ...all<Topic>('topics.yaml').map(({ spec: { config } }) => Number(config['max.message.bytes'] ?? 0)),
    );
    expect(Number(spec.kafka.config['replica.fetch.max.bytes'])).toBeGreaterThanOrEqual(largest);
    expect(values.kafka.brokers).toEqual([`${metadata.name}-kafka-bootstrap:9093`]);
    expect(values.kafka.tls.caSecret).toBe(`${metadata.name}-cluster-ca-cert`);
  });
});
