import { commandPages } from './commands/commands-page.ts';
import { deadLetterBook, deadLettersPages } from './dead-letters/dead-letters-pages.ts';
import { eventsPages } from './events/events-page.ts';
import { findPage } from './find/find-page.ts';
import { Turns } from './index/turns.ts';
import { overviewPage } from './overview/overview-page.ts';
import type { ConsoleDeps } from './page/console-deps.ts';
import type { Page } from './page/page.ts';
import { resultLog } from './results/result-log.ts';
import { schemasPage } from './schemas/schemas-page.ts';
import { subscriptionsPage } from './subscriptions/subscriptions-page.ts';
import { watchTargets } from './watch/watch.ts';

/** Every page, in the order of the navigation. How a page is written is said in `page/page.ts`. */
export function consolePages(deps: ConsoleDeps): readonly Page[] {
  const watching = watchTargets(deps);
  const results = resultLog(deps);
  // Whatever reads topics takes turns: answers are as large as the largest record.
  const turns = new Turns();
  const deadLetters = deadLetterBook(deps, turns);
  return [
    // That topic is read all the time: whether the console reaches Kafka is known from it.
    overviewPage(deps, watching, () => deadLetters.failure),
    findPage(deps, turns),
    ...eventsPages(deps, turns),
    ...deadLettersPages(deps, deadLetters),
    subscriptionsPage(deps, { watch: watching.watch, results }),
    ...commandPages(deps, results),
    schemasPage(deps, watching.watch),
  ];
}
