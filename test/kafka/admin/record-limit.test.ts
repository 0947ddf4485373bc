import type kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { allowedRecordBytes } from '../../../src/kafka/admin/record-limit.ts';

const MIB = 1024 * 1024;
const WANTED = 95_000_000;

/** Two brokers that report these settings, each its own; an error is what they say instead. */
const brokers = (...reported: Record<string, number>[] | [Error]) =>
  ({
    describeCluster: async () => ({ brokers: reported.map((_, nodeId) => ({ nodeId })) }),
    describeConfigs: async () => {
      if (reported[0] instanceof Error) throw reported[0];
      return {
        resources: reported.map((settings, nodeId) => ({
          resourceName: String(nodeId),
          configEntries: Object.entries(settings).map(([configName, value]) => ({
            configName,
            configValue: String(value),
          })),
        })),
      };
    },
  }) as unknown as kafkajs.Admin;

const refusal = (type: string) => Object.assign(new Error(type), { type });
/** A policy that takes no more than `most` bytes. */
const policy = (most: number) => async (bytes: number | undefined) => {
  // As the client words it for topics that are to be created.
  if ((bytes ?? 0) > most)
    throw Object.assign(new Error('Topic creation errors'), { errors: [refusal('POLICY_VIOLATION')] });
};
const anything = async () => {};

describe('the largest record is', () => {
  it.each<
    [
      string,
      kafkajs.Admin,
      (bytes: number | undefined) => Promise<void>,
      number | undefined,
      string | undefined,
    ]
  >([
    ['what is wanted, where the cluster says nothing against it', brokers({}), anything, WANTED, undefined],
    [
      'what is wanted, where brokers may not be asked',
      brokers(refusal('CLUSTER_AUTHORIZATION_FAILED')),
      anything,
      WANTED,
      undefined,
    ],
    [
      'what every broker reads in one request',
      brokers({ 'socket.request.max.bytes': 60 * MIB }, { 'socket.request.max.bytes': 50 * MIB }),
      anything,
      50 * MIB - 65_536,
      "the brokers' socket.request.max.bytes allows no more",
    ],
    [
      'what the brokers take by default, where a policy refuses more',
      brokers({ 'message.max.bytes': 3_000_000 }),
      policy(3_000_000),
      3_000_000,
      "the cluster's policy refuses more",
    ],
    [
      'what hosted clusters are known to take',
      brokers({}),
      policy(8 * MIB),
      8 * MIB,
      "the cluster's policy refuses more",
    ],
    [
      "the cluster's default, where a policy refuses every value",
      brokers({}),
      policy(0),
      undefined,
      "the cluster's policy refuses every value that was tried",
    ],
    [
      'what is wanted, where the refusal is about something else',
      brokers({}),
      () => Promise.reject(refusal('POLICY_VIOLATION')),
      WANTED,
      undefined,
    ],
    [
      'what is wanted, where nothing may be tried',
      brokers({}),
      () => Promise.reject(refusal('TOPIC_AUTHORIZATION_FAILED')),
      WANTED,
      undefined,
    ],
  ])('%s', async (_, admin, validate, bytes, why) => {
    expect(await allowedRecordBytes(admin, WANTED, validate)).toEqual({ bytes, why });
  });
});
