import { deadLettersPages } from './dead-letters/dead-letters-pages.ts';
import { eventsPages } from './events/events-page.ts';
import { findPage } from './find/find-page.ts';
import { Turns } from './index/turns.ts';
import { overviewPage } from './overview/overview-page.ts';
import type { ConsoleDeps } from './page/console-deps.ts';
import type { Page } from './page/page.ts';

/** Every page, in the order of the navigation. How a page is written is said in `page/page.ts`. */
export const consolePages = (deps: ConsoleDeps): readonly Page[] => {
  // Whatever reads topics takes turns: answers are as large as the largest record.
  const turns = new Turns();
  return [
    overviewPage(deps),
    findPage(deps, turns),
    ...eventsPages(deps, turns),
    ...deadLettersPages(deps, turns),
  ];
};
