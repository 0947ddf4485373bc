import type { CommandResult } from '../../src/core/command.ts';

/** The result of a list with so many subscriptions. */
export const listResult = (count: number) =>
  ({
    commandId: 'c-1',
    type: 'subscription.list',
    ref: null,
    status: 'SUCCEEDED',
    subscriptionId: null,
    httpStatus: 200,
    errorCode: null,
    message: `${count} listed`,
    attempts: 1,
    issuedBy: null,
    dryRun: false,
    receivedAt: 1,
    finishedAt: 2,
    commandTopic: 't',
    commandPartition: 0,
    commandOffset: 3,
    subscriptions: Array.from({ length: count }, (_, n) => ({
      subscriptionId: `s-${n}`,
      url: null,
      events: null,
      ref: null,
    })),
    drift: null,
  }) satisfies CommandResult;
