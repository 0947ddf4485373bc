import { HooklineError } from '../core/errors.ts';
import type { TokenSource } from './token-source.ts';

/** The tokens of a thread that obtains none itself: it waits for the first one that it is handed. */
export type HandedTokens = TokenSource & {
  /** @param token undefined: there is none now */
  hand(token: string | undefined): void;
};

/** @param onReject gets a token that the other side did not take: whoever hands them obtains another */
export function createHandedTokens(onReject: (token: string) => void): HandedTokens {
  const first = Promise.withResolvers<void>();
  let current: string | undefined;
  return {
    hand(token) {
      current = token;
      first.resolve();
    },
    async get() {
      await first.promise;
      if (current === undefined) throw new HooklineError('ACCESS_TOKEN_UNAVAILABLE');
      return current;
    },
    reject: onReject,
    current: () => current,
  };
}
