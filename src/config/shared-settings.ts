import { integer, milliseconds, oneOf, text } from './env.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** What every process of Hookline has: a log and an admin port. */
export const runtimeSettings = {
  logLevel: oneOf('LOG_LEVEL', {
    about: 'lowest severity that is logged; debug adds a line per delivery',
    fallback: 'info',
    values: LOG_LEVELS,
  }),
  adminHost: text('ADMIN_HOST', { about: 'address of /livez, /readyz and /metrics', fallback: '0.0.0.0' }),
  adminPort: integer('ADMIN_PORT', {
    about: 'port of /livez, /readyz and /metrics; 0 takes a free one',
    fallback: '9464',
    max: 65_535,
  }),
  stopDeadlineMs: milliseconds('STOP_DEADLINE_MS', {
    about: 'longest time from SIGTERM to the exit; work in progress is finished within it',
    fallback: '25000',
    min: 1,
  }),
};
