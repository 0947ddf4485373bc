import { createMask, type Mask } from '../../cli/shell/mask.ts';
import type { ConsoleConfig } from '../settings/console-config.ts';
import { html } from './html.ts';
import { checkRole, type PageRequest } from './page.ts';

/** What a reader may see of records. */
export type Reveal = {
  /**
   * Reads with what the reader may see: everything where `reveal=yes` is asked for, by who may, and with a record of the audit trail
   * before anything is shown; else masked by the schemas' tags.
   * @param detailsOf says of what was read which records it is. The trail holds nothing that is masked: no entity, no key
   */
  show<T>(
    request: PageRequest,
    read: (mask: Mask) => Promise<T>,
    action: string,
    detailsOf: (shown: T) => object,
  ): Promise<T>;
};

export const isRevealing = ({ query }: PageRequest): boolean => query.reveal === 'yes';

export function createReveal(config: ConsoleConfig): Reveal {
  const masked = createMask(config, false, '');
  const shown = createMask(config, true);
  return {
    async show(request, read, action, detailsOf) {
      if (!isRevealing(request)) return read(masked);
      checkRole(request, 'reveal');
      const found = await read(shown);
      await request.audit(action, detailsOf(found));
      return found;
    },
  };
}

/** A value as the audit trail has it: it may be an entity, which the schemas tag. What was found says which records it led to. */
export const hiddenWord = (value: string): string => `hidden (${Buffer.byteLength(value)} bytes)`;

/** For who may: shows what the schemas tag as sensitive. */
export const revealField = (request: PageRequest) =>
  request.may('reveal') &&
  html`<label class="check"><input type="checkbox" name="reveal" value="yes"${isRevealing(request) && html` checked`}> Show what the schemas tag as sensitive (an entry of the audit trail)</label>`;
