import { HooklineError } from '../../core/errors.ts';
import { signingPartFault } from '../../crypto/keys.ts';
import type { Outcome } from '../../provider/call-provider.ts';
import type { CreatedItem } from '../../provider/provider-api.ts';
import type { TemplateValues } from '../../provider/template.ts';
import type { DirSecrets } from '../../subscriptions/secrets-dir.ts';
import { clearAddress } from './clear-address.ts';
import type { OperationContext } from './operation.ts';

/** Answers without the dialect's shape that are looked behind before the command has FAILED. */
const MOST_INVALID_ANSWERS = 3;

/**
 * A subscription that can be verified; or why there is none, whether something stands at the address all the same, and
 * whether it may still come there: a call that the command's deadline has cut short was not waited for.
 */
type Ended =
  | { readonly created: CreatedItem }
  | { readonly failure: HooklineError; readonly mayBeThere: boolean; readonly mayStillCome: boolean };

/** Asks for the subscription until there is one that can be verified. Between two calls the address is cleared. */
export async function createUntilVerifiable(
  context: OperationContext,
  values: TemplateValues,
  dir: DirSecrets,
): Promise<Ended> {
  const { command, session } = context;
  let invalid = 0;
  let mayBeThere = false;
  let mayStillCome = false;
  try {
    for (let attempt = 1; ; attempt++) {
      const outcome = await session.api.create(values, command.extra);
      const fault = outcome.judgement === 'done' ? faultOf(outcome.created, dir) : null;
      if (outcome.judgement === 'done' && fault === null && outcome.created)
        return { created: outcome.created };
      mayBeThere = !isWithoutEffect(outcome);
      mayStillCome = outcome.cutShort === true;
      if (fault !== null && ++invalid >= MOST_INVALID_ANSWERS)
        throw new HooklineError('PROVIDER_ANSWER_INVALID', fault);
      if (['refused', 'unauthorised', 'gone'].includes(outcome.judgement))
        throw new HooklineError('PROVIDER_REFUSED', outcome.why);
      await session.waitBefore(attempt, outcome);
      // Whatever stands there now is what our own call has left.
      await clearAddress(context, true);
      mayBeThere = false;
    }
  } catch (error) {
    if (error instanceof HooklineError && error.result) return { failure: error, mayBeThere, mayStillCome };
    throw error;
  }
}

/** A redirect isn't followed, and may be the answer to what was done: many a service answers a POST with one. */
function isWithoutEffect({ judgement, status }: Outcome): boolean {
  if (judgement === 'refused') return status !== null && status >= 400;
  return judgement === 'later' || judgement === 'unauthorised' || judgement === 'gone';
}

/** Why a created subscription could not be verified; null where it can. */
function faultOf(created: CreatedItem | null, { signingSecrets }: DirSecrets): string | null {
  if (!created) return 'it has no id';
  const idFault = signingPartFault(created.id);
  if (idFault) return `the id ${idFault}`;
  if (created.signingSecret === undefined) {
    return signingSecrets.length > 0
      ? null
      : 'it has no signing secret, and SECRETS_DIR has none for the ref';
  }
  const secretFault = signingPartFault(created.signingSecret);
  return secretFault && `the signing secret ${secretFault}`;
}
