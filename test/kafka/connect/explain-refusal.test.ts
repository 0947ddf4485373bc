import { describe, expect, it } from 'vitest';
import { explainRefusal } from '../../../src/kafka/connect/explain-refusal.ts';
import type { Sasl } from '../../../src/kafka/connect/sasl.ts';

it('names the address and the remedy of brokers that accept a connection and answer nothing', () => {
  const error = explainRefusal(
    new Error('Broker not connected'),
    { brokers: ['kafka-1:9092', 'kafka-2:9092'], tls: undefined, sasl: undefined, loopbackOnly: false },
    { neverAnswered: true },
  );
  expect(error).toMatchObject({
    code: 'KAFKA_UNAVAILABLE',
    message: expect.stringContaining('kafka-1:9092, kafka-2:9092: no answer in time'),
    remedy: 'check that it runs, and check KAFKA_BROKERS and the network between',
  });
});

describe('of several brokers the one that an error names', () => {
  const brokers = ['kafka-1:9092', 'kafka-2:9092'];
  const connection = { brokers, tls: undefined, sasl: undefined, loopbackOnly: false };
  const refused = (host: string) => ({
    kafkajs: Object.assign(new Error('Connection error: connect ECONNREFUSED'), { broker: host }),
    platformatic: new Error(`Connection to ${host} failed.`, { cause: new Error('connect ECONNREFUSED') }),
  });

  it.each(Object.entries(refused('kafka-2:9092')))('is named alone: others may answer (%s)', (_, error) => {
    const retried = new Error('Number of retries exceeded', { cause: error });
    expect(explainRefusal(retried, connection, { neverAnswered: false })).toMatchObject({
      code: 'KAFKA_UNAVAILABLE',
      message: expect.stringContaining('(kafka-2:9092: nobody listens there)'),
      remedy: 'see that it runs, and correct KAFKA_BROKERS',
    });
  });

  it('is one of KAFKA_BROKERS in whatever case its name is written there', () => {
    const upper = { ...connection, brokers: ['Kafka-1:9092', 'Kafka-2:9092'] };
    const { kafkajs } = refused('kafka-2:9092');
    expect(explainRefusal(kafkajs, upper, { neverAnswered: false })).toMatchObject({
      remedy: 'see that it runs, and correct KAFKA_BROKERS',
    });
  });

  it.each(Object.entries(refused('10.0.0.7:19092')))(
    'is not sought in KAFKA_BROKERS where they advertise another address (%s)',
    (_, error) => {
      expect(explainRefusal(error, connection, { neverAnswered: false })).toMatchObject({
        message: expect.stringContaining(
          '(10.0.0.7:19092, which the brokers advertise: nobody listens there)',
        ),
        remedy: 'see that it runs, and correct advertised.listeners of the brokers',
      });
    },
  );

  it.each(Object.entries(refused('2001:db8::1:9092')))(
    'is in brackets where it is an IPv6 address (%s)',
    (_, error) => {
      const ipv6 = { ...connection, brokers: ['[2001:db8::1]:9092', 'kafka-2:9092'] };
      expect(explainRefusal(error, ipv6, { neverAnswered: false })).toMatchObject({
        message: expect.stringContaining('([2001:db8::1]:9092: nobody listens there)'),
        remedy: 'see that it runs, and correct KAFKA_BROKERS',
      });
    },
  );

  it('is known to be one of them where the error names none, and they have answered before', () => {
    const error = explainRefusal(new Error('Request timed out'), connection, { neverAnswered: false });
    expect(error).toMatchObject({
      message: expect.stringContaining('(at least one of kafka-1:9092, kafka-2:9092: no answer in time)'),
    });
  });

  it('is told to be one of them where another one may be silent', () => {
    const error = explainRefusal(new Error('Broker requires TLS.'), connection, { neverAnswered: true });
    expect(error).toMatchObject({
      message: expect.stringContaining('(at least one of kafka-1:9092, kafka-2:9092: TLS is spoken there'),
    });
  });

  it('is not named for what is the matter with another one', () => {
    const others = new Error('Broker requires TLS.');
    const error = new AggregateError([others, refused('kafka-2:9092').platformatic]);
    expect(explainRefusal(error, connection, { neverAnswered: true })).toMatchObject({
      message: expect.stringContaining('(at least one of kafka-1:9092, kafka-2:9092: TLS is spoken there'),
    });
  });

  it('is named with the others that do not answer either', () => {
    const errors = brokers.toReversed().map((broker) => refused(broker).platformatic);
    const error = explainRefusal(new AggregateError(errors), connection, { neverAnswered: true });
    expect(error).toMatchObject({
      message: expect.stringContaining('(kafka-1:9092, kafka-2:9092: nobody listens there)'),
    });
  });
});

const CHANGED = 'Cannot change principals during re-authentication from User.one: User.two';
const FAILED = { type: 'SASL_AUTHENTICATION_FAILED', apiId: 'SASL_AUTHENTICATION_FAILED' };

it.each([
  ['kafkajs', new Error(CHANGED)],
  ['platformatic', Object.assign(new Error('SASL Authentication failed.'), { serverErrorMessage: CHANGED })],
])('a session that ends as the token is that of another user is no refusal of the token (%s)', (_, error) => {
  const sasl = { mechanism: 'OAUTHBEARER', variables: 'KAFKA_OAUTH_TOKEN_FILE' } as Sasl;
  const connection = { brokers: ['kafka-1:9092'], tls: undefined, sasl, loopbackOnly: false };
  const failed = new AggregateError([Object.assign(error, FAILED)], 'Received response with error');
  expect(explainRefusal(failed, connection, { neverAnswered: false })).toMatchObject({
    code: 'KAFKA_UNAVAILABLE',
    message: expect.stringContaining('the access token is that of another user now'),
  });
});
