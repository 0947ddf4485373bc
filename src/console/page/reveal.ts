import { createMask, type Mask } from '../../cli/shell/mask.ts';
import type { ConsoleConfig } from '../settings/console-config.ts';
import { html } from './html.ts';
import { PageError, type PageRequest } from './page.ts';

/** What a reader may see of a record. */
export type Reveal = {
  /** Everything where `reveal=yes` is asked for, by who may and with a record of the audit trail; else masked by the schemas' tags. */
  maskOf(request: PageRequest, action: string, details: object): Promise<Mask>;
};

export const isRevealing = ({ query }: PageRequest): boolean => query.reveal === 'yes';

export function createReveal(config: ConsoleConfig): Reveal {
  const masked = createMask(config, false);
  const shown = createMask(config, true);
  return {
    async maskOf(request, action, details) {
      if (!isRevealing(request)) return masked;
      if (!request.may('reveal'))
        throw new PageError(
          403,
          `${request.user.name} does not have the role reveal. CONSOLE_ROLES gives roles to groups.`,
        );
      await request.audit(action, details);
      return shown;
    },
  };
}

/** For who may: shows what the schemas tag as sensitive. */
export const revealField = (request: PageRequest) =>
  request.may('reveal') &&
  html`<label class="check"><input type="checkbox" name="reveal" value="yes"${isRevealing(request) && html` checked`}> Show what the schemas tag as sensitive (an entry of the audit trail)</label>`;
