import { expect, it } from 'vitest';
import { checkReadable } from '../../../src/kafka/consume/denied-rights.ts';
import { forbidden, type TopicFetcher } from '../../../src/kafka/consume/topic-fetcher.ts';

it('of several topics that may not be read the same one is named each time, whichever is answered first', async () => {
  const first = Promise.withResolvers<void>();
  const openTopic = (topic: string) =>
    ({
      async offsets() {
        if (topic === 'first') await first.promise;
        throw forbidden(topic, new Error('denied'));
      },
      close() {
        if (topic === 'second') first.resolve();
      },
    }) as unknown as TopicFetcher;
  await expect(checkReadable(openTopic, ['first', 'second'])).rejects.toThrow(
    '(first: this user may not read it)',
  );
});
