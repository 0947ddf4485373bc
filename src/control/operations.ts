import type { CommandType } from '../core/command.ts';
import { adoptSubscription } from './operations/adopt-subscription.ts';
import { createSubscription } from './operations/create-subscription.ts';
import { deleteSubscription } from './operations/delete-subscription.ts';
import { listSubscriptions } from './operations/list-subscriptions.ts';
import type { Operation } from './operations/operation.ts';
import { replayWebhooks } from './operations/replay-webhooks.ts';
import { updateSubscription } from './operations/update-subscription.ts';

/** What is done for each type of command. */
export const OPERATIONS: Readonly<Record<CommandType, Operation>> = {
  'subscription.create': createSubscription,
  'subscription.update': updateSubscription,
  'subscription.delete': deleteSubscription,
  'subscription.list': listSubscriptions,
  'subscription.adopt': adoptSubscription,
  'webhook.replay': replayWebhooks,
};
